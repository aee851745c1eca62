#pragma once

#include "ops/connection.h"

namespace larder {

/// `larder status`: who answers, by which path, and all of its figures.
struct StatusCommand {
  ConnectionOptions connection;
  bool json = false;
};
absl::StatusOr<ExitCode> run(const StatusCommand& command);

/// `larder top`: the figures that move, with rates, again every `interval_ms` until interrupted.
struct TopCommand {
  ConnectionOptions connection;
  bool json = false;
  bool once = false;  ///< one interval, then exit
  std::uint32_t interval_ms = 1'000;
};
absl::StatusOr<ExitCode> run(const TopCommand& command);

}  // namespace larder
