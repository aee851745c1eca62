#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "store/eviction_policy.h"

namespace larder {

/// A policy for a tenant's blocks in one shard. Called by every shard; outlives none of them.
using PolicyFactory = std::function<std::unique_ptr<EvictionPolicy>(TenantId)>;

/// Policies of another kind for a node that has blocks already; the same for all of its shards, so
/// that the order of last uses holds between them.
struct PolicyChange {
  /// Steps of kUseTick whose order is kept: 23 hours. What was used before that is as old.
  static constexpr std::uint32_t kAgesKept = 1U << 23;

  PolicyFactory make_policy;
  std::uint64_t sequence = 0;  ///< of a block used just now; one used `age` steps ago: less by that
  Time now;                    ///< of the clock of last uses
};

}  // namespace larder
