#include "actors/policy_factory.h"

#include <fmt/format.h>

#include "policies/lru_policy.h"

namespace larder {

absl::StatusOr<Shard::PolicyFactory> policy_factory(const std::string& name) {
  if (name == "lru") {
    return Shard::PolicyFactory([] { return std::make_unique<LruPolicy>(); });
  }
  return absl::InvalidArgumentError(fmt::format("policy: \"{}\" is not one of: lru", name));
}

}  // namespace larder
