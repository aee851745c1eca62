#include <fmt/format.h>

#include "ops/bench.h"
#include "ops/bench_rivals.h"
#include "ops/bench_store.h"
#include "ops/percentile.h"
#include "store/status_macros.h"

namespace larder {
namespace {

/// One phase: bare copies and puts in turns.
absl::Status phase(const BenchOptions& options, Client& client, BenchSet& set, BenchRivals& rivals,
                   BenchRow& row) {
  row.limits = rivals.bare_times();
  std::vector<BenchProgram> programs = rivals.bare_programs();
  std::vector<BenchTimes*> times;
  for (BenchTimes& limit : row.limits)
    times.push_back(&limit);
  programs.push_back([&](const BenchTurn& turn, BenchTimes& to) {
    return larder_turn(options, client, set, turn, to);
  });
  times.push_back(&row.larder);
  return take_turns(options, programs, times);
}

}  // namespace

absl::StatusOr<BenchRow> bench_full(const BenchOptions& given, Client& client,
                                    std::uint64_t block_bytes) {
  BenchOptions options = given;
  options.seconds /= 2;
  options.full = false;
  LARDER_ASSIGN_OR_RETURN(const auto set, BenchSet::make(options, client, block_bytes));
  if (!set->shm()) return absl::InvalidArgumentError("--full measures puts over shared memory");
  LARDER_RETURN_IF_ERROR(set->store_all());
  LARDER_ASSIGN_OR_RETURN(const auto rivals, BenchRivals::make(options, client, *set));
  BenchRow empty;
  LARDER_RETURN_IF_ERROR(phase(options, client, *set, *rivals, empty));

  LARDER_RETURN_IF_ERROR(fill_store(client, *set));
  options.full = true;
  LARDER_ASSIGN_OR_RETURN(const double before, evictions_of(client));
  BenchRow row{.bytes = block_bytes, .batch = set->batch(), .depth = set->depth()};
  LARDER_RETURN_IF_ERROR(phase(options, client, *set, *rivals, row));
  LARDER_ASSIGN_OR_RETURN(const double after, evictions_of(client));

  const double full_p99 = percentile(row.larder.us, 99);
  row.more.emplace_back("empty_us_p50", percentile(empty.larder.us, 50));
  row.more.emplace_back("empty_us_p99", percentile(empty.larder.us, 99));
  row.more.emplace_back("p99_ratio_to_empty", full_p99 / percentile(empty.larder.us, 99));
  row.more.emplace_back("p99_ratio_to_copy", full_p99 / percentile(best_limit(row).us, 99));
  row.more.emplace_back("evicted", static_cast<std::uint64_t>(after - before));
  LARDER_RETURN_IF_ERROR(set->remove_all());
  return row;
}

}  // namespace larder
