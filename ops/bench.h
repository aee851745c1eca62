#pragma once

#include <string>
#include <vector>

#include "ops/bench_times.h"
#include "ops/connection.h"
#include "ops/report.h"

namespace larder {

struct BenchOptions {
  enum class Operation : std::uint8_t { kGet, kPut, kMatch, kView };

  ConnectionOptions connection;
  Operation operation = Operation::kGet;
  std::vector<std::uint64_t> sizes{64 << 10, 1 << 20, 4 << 20, 16 << 20};  ///< get, put, view
  std::uint32_t batch = 0;           ///< blocks a call; 0: about 4 MiB of them, of a view 1
  std::uint32_t depth = 0;           ///< calls outstanding; 0: 1 over shared memory, 2 over tcp
  std::uint32_t positions = 1000;    ///< match: of a chain
  std::uint64_t blocks = 1'000'000;  ///< match: in the index, all in chains of `positions`
  std::uint32_t rounds = 7;
  double seconds = 3;       ///< for each size, limits included
  std::uint64_t count = 0;  ///< calls a round, instead of a time; 0: by time
  /// That are gone through, at most: larger than any cache that we know of.
  std::uint64_t cold_bytes = 512 << 20;
  double pause_ms = 0;          ///< between calls, of Larder and of the limits alike
  std::uint32_t spin_us = 150;  ///< the client polls so long before it sleeps
  bool heap = false;            ///< buffers in plain memory, not in a registered region
  bool full = false;            ///< put: into a full store, beside an empty one that is faulted in
  bool under_load = false;      ///< match: also while another process puts into a full store
  std::uint32_t load_clients = 1;  ///< connections of that process, each with a put under way
  std::string load_token;          ///< of that process; empty: as ours
  bool json = false;

  /// INVALID_ARGUMENT naming the flag, the value and the bound.
  absl::Status validate() const;
};

/// `larder bench get|put|view|match`: measures a running larderd, and in the same run what the
/// machine can do on that path. Works in namespaces of its own and removes what it stored.
absl::StatusOr<ExitCode> run(const BenchOptions& options);

/// Gets and puts of one size.
absl::StatusOr<BenchRow> bench_bytes(const BenchOptions& options, Client& client,
                                     std::uint64_t block_bytes);
/// Views of one size, taken and released; no byte is read.
absl::StatusOr<BenchRow> bench_view(const BenchOptions& options, Client& client,
                                    std::uint64_t block_bytes);
/// Puts of one size into an empty store and then into a full one.
absl::StatusOr<BenchRow> bench_full(const BenchOptions& options, Client& client,
                                    std::uint64_t block_bytes);
/// Matches of chains that are present to their end, drawn at random; bytes are those of the hashes.
/// Connects by itself: the load is a process that is forked first.
absl::StatusOr<BenchRow> bench_match(const BenchOptions& options);

}  // namespace larder
