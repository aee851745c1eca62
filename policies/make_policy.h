#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "store/policy_change.h"

namespace larder {

/// What a shard can run, best known first: haz, lru, s3fifo, sieve, lfu, fifo, watermark.
std::vector<std::string> policy_names();

/// A new policy. INVALID_ARGUMENT for another name, listing them all.
absl::StatusOr<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name);

/// For the shards of a node: those of one tenant share what they learn. The same errors. What it
/// returns may be called by any thread.
absl::StatusOr<PolicyFactory> policy_factory(std::string_view name);

}  // namespace larder
