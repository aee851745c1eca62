#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/node_context.h"

namespace larder {

// Every figure of the node by name. Any thread.
using NodeFigures = std::vector<std::pair<std::string, double>>;
NodeFigures collect_counters(const NodeContext& node);
NodeFigures collect_gauges(const NodeContext& node);
/// Both, in this order.
NodeFigures collect_stats(const NodeContext& node);

}  // namespace larder
