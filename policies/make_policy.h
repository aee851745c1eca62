#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "store/eviction_policy.h"

namespace larder {

/// What a shard can run, best known first: haz, lru, s3fifo, sieve, lfu, fifo, watermark.
std::vector<std::string> policy_names();

/// A new policy. INVALID_ARGUMENT for another name, listing them all.
absl::StatusOr<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name);

}  // namespace larder
