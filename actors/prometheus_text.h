#pragma once

#include <string>

#include "actors/node_context.h"

namespace larder {

/// Every figure of the node in Prometheus' text format, `larder_` before each name. Any thread.
std::string prometheus_text(const NodeContext& node);

}  // namespace larder
