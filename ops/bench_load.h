#pragma once

#include <memory>

#include "ops/bench.h"

namespace larder {

/// Another process that loads the machine while this one measures: it puts blocks of 64 KiB into
/// larderd at full rate, or burns as much CPU time without larderd.
///
/// Owns the process. Made before this process connects, as it is a fork. One caller thread; every
/// method waits for the process's answer, and is UNAVAILABLE when it has none.
class BenchLoad {
 public:
  static absl::StatusOr<std::unique_ptr<BenchLoad>> fork(const BenchOptions& options);
  ~BenchLoad();
  BenchLoad(const BenchLoad&) = delete;
  BenchLoad& operator=(const BenchLoad&) = delete;

  /// Connects and puts until larderd evicts.
  absl::Status fill();
  /// Puts, from now until stop().
  absl::Status start_puts();
  /// Burns `cores` of CPU time a second, from now until stop().
  absl::Status start_dummy(double cores);
  struct Done {
    std::uint64_t bytes = 0;  ///< put
    std::uint64_t cpu_ns = 0;
  };
  absl::StatusOr<Done> stop();

 private:
  BenchLoad(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  absl::Status order(char what, double cores = 0);
  absl::StatusOr<Done> answer();

  pid_t pid_;
  int fd_;  ///< orders go out, answers come in
};

/// CPU time that a process has used.
absl::StatusOr<Duration> cpu_time_of(pid_t pid);
/// The process behind a unix socket. INVALID_ARGUMENT when `options` lead to larderd by TCP.
absl::StatusOr<pid_t> server_pid(const ConnectionOptions& options);

}  // namespace larder
