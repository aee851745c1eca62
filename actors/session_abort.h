#pragma once

#include "actors/node_context.h"

namespace larder {

/// Takes back what an answered call reserved for an op or a session that is gone.
void abort_reserved(NodeContext& node, const ShardCall& call);

}  // namespace larder
