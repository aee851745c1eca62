#pragma once

#include <string>

#include "ops/target.h"

namespace larder {

/// `larder get NAME [FILE]`: writes a block's bytes to a file (standard output for "-"). kMiss when
/// it is absent; nothing is written then. With --json the answer goes to standard output, and the
/// bytes need a file.
struct GetCommand {
  Target target;
  std::string name;
  std::string file = "-";
};
absl::StatusOr<ExitCode> run(const GetCommand& command);

}  // namespace larder
