#pragma once

#include <string>

#include "ops/connection.h"

namespace larder {

/// `larder config check FILE`: kOk when larderd would take the file, and those that it names; an
/// error of kUsage else.
struct ConfigCheckCommand {
  std::string file;
  bool json = false;
};
absl::StatusOr<ExitCode> run(const ConfigCheckCommand& command);

}  // namespace larder
