#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/connection.h"
#include "ops/report.h"
#include "ops/sim_cache.h"
#include "ops/sim_plan.h"

namespace larder {

/// `larder sim TRACE…`: what policies would do with a trace at given capacities, without a daemon
/// and without bytes. The policies are the objects that shards run; `min` is the optimum.
struct SimCommand {
  std::vector<std::string> traces;
  std::string policies = "lru,haz,min";
  std::string capacities = "1000,2000,5000,10000,20000,50000";
  Bytes block_bytes{64 << 10};
  std::string hints;        ///< empty: none
  std::uint64_t limit = 0;  ///< requests of each trace; 0: all
  bool tenants = false;     ///< traces play together, each a tenant
  double sample = 1;        ///< part of the blocks
  std::string plot;         ///< file; empty: none
  bool json = false;
};

struct SimResult {
  std::string trace{};
  std::string policy{};
  std::uint64_t capacity = 0;  ///< blocks
  double hit_rate = 0;
  std::uint64_t inserts = 0;
  std::uint64_t evictions = 0;
  double seconds = 0;  ///< of the simulation; reading the trace is not in it
  double references_per_s = 0;
  std::optional<double> gap_closed{};  ///< 0: LRU's hit rate, 1: the optimum's
};

/// One trace, or several merged, at all capacities. INVALID_ARGUMENT for what is not a policy.
absl::StatusOr<std::vector<SimResult>> simulate(const SimTrace& trace, const SimCommand& command,
                                                const std::vector<std::string>& names);

/// INVALID_ARGUMENT naming the flag, or file and line.
absl::StatusOr<ExitCode> run(const SimCommand& command);

}  // namespace larder
