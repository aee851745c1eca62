#pragma once

#include <string>

#include "actors/node_context.h"

namespace larder {

/// Every figure of the node in Prometheus' text format, named by metric_table.h, the times of its
/// operations and what runs. Any thread.
std::string prometheus_text(const NodeContext& node);

}  // namespace larder
