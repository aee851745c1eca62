#pragma once

#include <string>

#include "ops/connection.h"

namespace larder {

/// `larder doctor`: what this machine and its larderd lack, and what to do about it.
struct DoctorCommand {
  ConnectionOptions connection;
  std::string root = "/";        ///< whose proc and sys are read
  bool machine_only = false;     ///< asks no daemon
  std::uint64_t host_bytes = 0;  ///< capacity to judge by; 0: the daemon's, else larderd's default
  bool json = false;
};
/// kFailure when something is a problem.
absl::StatusOr<ExitCode> run(const DoctorCommand& command);

}  // namespace larder
