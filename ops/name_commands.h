#pragma once

#include <string>
#include <vector>

#include "ops/target.h"

namespace larder {

/// The commands on several names of a flat namespace, one answer a name. kMiss when any is absent.
struct MatchCommand {  ///< `larder match NAME…`
  Target target;
  std::vector<std::string> names;
};
struct PinCommand {  ///< `larder pin NAME…`, `larder unpin NAME…`
  Target target;
  std::vector<std::string> names;
  std::uint32_t ttl_seconds = 0;  ///< 0: until unpinned
  bool unpin = false;
};
struct RemoveCommand {  ///< `larder rm NAME…`
  Target target;
  std::vector<std::string> names;
};
absl::StatusOr<ExitCode> run(const MatchCommand& command);
absl::StatusOr<ExitCode> run(const PinCommand& command);
absl::StatusOr<ExitCode> run(const RemoveCommand& command);

/// `larder rm --prefix HASH…`: every block of a chain namespace whose prompt begins with these unit
/// hashes. kMiss when there was none.
struct RemovePrefixCommand {
  Target target;
  std::vector<std::string> hashes;
};
absl::StatusOr<ExitCode> run(const RemovePrefixCommand& command);

}  // namespace larder
