#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "store/shard.h"

namespace larder {

/// Makes policies by the name in the configuration. INVALID_ARGUMENT lists the names.
absl::StatusOr<PolicyFactory> policy_factory(const std::string& name);

}  // namespace larder
