#pragma once

#include <cstdint>
#include <string>

namespace larder::soak {

/// Flags of `larder_soak worker`.
struct WorkerOptions {
  std::string server;
  std::string counts_file;
  std::uint64_t seed = 0;
  bool hold = false;  ///< opens what a client can leave open, and does nothing more
};

/// Exit codes of a worker that found the daemon wrong.
inline constexpr int kExitWrongByte = 3;
inline constexpr int kExitRemovedServed = 4;
inline constexpr int kExitPrefixServed = 6;
inline constexpr int kExitBroken = 5;  ///< an answer of another shape than the call

/// Until it is told to stop (0), finds something wrong, or is killed.
int run_worker(const WorkerOptions& options);

}  // namespace larder::soak
