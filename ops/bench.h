#pragma once

#include <string>
#include <vector>

#include "ops/connection.h"
#include "ops/report.h"

namespace larder {

struct BenchOptions {
  enum class Operation : std::uint8_t { kGet, kPut, kMatch };

  ConnectionOptions connection;
  Operation operation = Operation::kGet;
  std::vector<std::uint64_t> sizes{64 << 10, 1 << 20, 4 << 20, 16 << 20};  ///< get and put
  std::uint32_t batch = 0;         ///< blocks a call; 0: about 4 MiB of them
  std::uint32_t depth = 0;         ///< calls outstanding; 0: 1 over shared memory, 2 over tcp
  std::uint32_t positions = 1000;  ///< match: of the chain
  std::uint32_t rounds = 7;
  double seconds = 3;       ///< for each size, limit included
  std::uint64_t count = 0;  ///< calls a round, instead of a time; 0: by time
  bool heap = false;        ///< buffers in plain memory, not in a registered region
  bool json = false;

  /// INVALID_ARGUMENT naming the flag, the value and the bound.
  absl::Status validate() const;
};

/// One size's answer: medians over rounds, in which Larder and the machine's limit took turns.
struct BenchRow {
  std::uint64_t bytes = 0;
  std::uint32_t batch = 0;
  std::uint32_t depth = 0;
  std::vector<double> mib_s;        ///< by round
  std::vector<double> limit_mib_s;  ///< by round
  std::vector<float> us;            ///< each call
  std::vector<float> limit_us;      ///< each call of the limit, where it has calls
};

/// `larder bench get|put|match`: measures a running larderd, and in the same run what the machine
/// can do on that path. Works in namespaces of its own and removes what it stored.
absl::StatusOr<ExitCode> run(const BenchOptions& options);

/// Gets and puts of one size.
absl::StatusOr<BenchRow> bench_bytes(const BenchOptions& options, Client& client,
                                     std::uint64_t block_bytes);
/// Matches of one chain that is present to its end; its bytes are those of the hashes.
absl::StatusOr<BenchRow> bench_match(const BenchOptions& options, Client& client);

}  // namespace larder
