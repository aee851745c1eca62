#pragma once

#include <string>

#include "ops/target.h"

namespace larder {

/// `larder put NAME [FILE]`: stores a file's bytes (standard input's for "-") under a name. kOk
/// also when the name is there already with the same length: a block is immutable.
struct PutCommand {
  Target target;
  std::string name;
  std::string file = "-";
};
absl::StatusOr<ExitCode> run(const PutCommand& command);

}  // namespace larder
