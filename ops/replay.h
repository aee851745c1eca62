#pragma once

#include <string>
#include <vector>

#include "ops/connection.h"
#include "ops/report.h"
#include "ops/trace_reader.h"

namespace larder {

struct ReplayOptions {
  ConnectionOptions connection;
  std::string trace;
  std::uint32_t workers = 1;
  Bytes block_bytes{64 << 10};
  std::uint32_t tokens_per_block = 512;
  std::uint64_t limit = 0;  ///< requests; 0: all
  double rate = 0;          ///< 0: as fast as it goes; 1: recorded time; 2: twice as fast
  /// Replays with equal seeds share blocks; empty: a fresh namespace for each run.
  std::string seed;
  bool trace_time = false;  ///< send the trace's own time (needs larderd's allow_trace_time)
  bool progress = true;     ///< on a terminal
  bool json = false;

  /// INVALID_ARGUMENT naming the flag, the value and the bound.
  absl::Status validate() const;
};

struct ReplayResult {
  std::uint64_t requests = 0;
  std::uint64_t references = 0;      ///< blocks of all prompts
  std::uint64_t hit_references = 0;  ///< in the longest resident prefix, when the request arrived
  std::uint64_t wrong_bytes = 0;
  std::uint64_t errors = 0;
  std::uint64_t puts_without_room = 0;  ///< blocks that were refused because nothing could leave
  std::uint64_t tokens_saved = 0;       ///< of prefill: never more than a prompt has
  std::uint64_t get_bytes = 0;
  std::uint64_t put_bytes = 0;
  double get_seconds = 0;  ///< inside gets, all workers together
  double put_seconds = 0;
  double seconds = 0;           ///< from start to end
  std::vector<float> match_us;  ///< one a request
  std::vector<float> get_us;    ///< one a request that had hits
};

/// Plays a trace through a running larderd with `workers` processes. Each takes the next request of
/// the trace when it is free, so that none runs ahead: order is what hits depend on. Must be called
/// before the process has threads: it forks. UNAVAILABLE when a worker cannot connect, INTERNAL
/// when one dies.
absl::StatusOr<ReplayResult> replay(const ReplayOptions& options,
                                    const std::vector<TraceRequest>& trace);

/// Rates are bytes over the time that workers spent inside gets (puts).
Report replay_report(const ReplayResult& result, bool json);

/// `larder replay TRACE`. kFailure when a byte was wrong or a call failed, else kUnavailable when a
/// block found no room.
absl::StatusOr<ExitCode> run(const ReplayOptions& options);

}  // namespace larder
