#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/node_context.h"

namespace larder {

/// Every figure of the node by name: counters, then gauges. Any thread.
std::vector<std::pair<std::string, double>> collect_stats(const NodeContext& node);

/// The same in Prometheus' text format, `larder_` before each name.
std::string prometheus_text(const NodeContext& node);

}  // namespace larder
