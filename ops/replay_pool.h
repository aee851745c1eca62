#pragma once

#include <string>

#include "absl/functional/function_ref.h"

#include "ops/replay_worker.h"

namespace larder {

/// The processes of a replay and the memory in which they count.
///
/// Forks: to be used before the process has any thread. Owns the shared memory and its children; a
/// child dies with its parent. Not thread-safe.
class ReplayPool {
 public:
  ReplayPool(const ReplayOptions& options, const std::vector<TraceRequest>& trace);
  ~ReplayPool();  ///< kills what still runs
  ReplayPool(const ReplayPool&) = delete;
  ReplayPool& operator=(const ReplayPool&) = delete;

  /// Starts every worker. RESOURCE_EXHAUSTED when memory or processes are refused.
  absl::Status start();
  /// Waits for all of them; at the first that fails, ends the others. `on_progress(done)` is called
  /// about ten times a second.
  absl::Status wait(absl::FunctionRef<void(std::uint64_t)> on_progress);
  /// After wait(): sums of all workers. `seconds` is the caller's.
  ReplayResult result() const;
  /// The first error that a worker counted, or empty.
  std::string first_error() const;

 private:
  /// Of the trace; shared by the workers, so that they stay together in it.
  std::atomic<std::uint64_t>& next() const;
  ReplayCounts& counts(std::size_t worker) const;
  ReplayLatencies latencies() const;
  [[noreturn]] void work(std::size_t worker);
  absl::Status ended(std::size_t worker, int wait_status) const;

  const ReplayOptions& options_;
  const std::vector<TraceRequest>& trace_;
  std::byte* shared_ = nullptr;
  std::size_t shared_bytes_ = 0;
  std::vector<int> pids_;  // 0: has ended
};

}  // namespace larder
