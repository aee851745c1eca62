#pragma once

#include "ops/target.h"

namespace larder {

/// `larder ls`: the blocks of a namespace, by hash (names are not kept). Ends with the count.
struct ListCommand {
  Target target;
  std::uint64_t limit = 1'000;  ///< 0: all
};
absl::StatusOr<ExitCode> run(const ListCommand& command);

}  // namespace larder
