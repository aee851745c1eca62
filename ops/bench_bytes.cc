#include "ops/bench.h"
#include "ops/bench_rivals.h"
#include "store/status_macros.h"

namespace larder {

absl::StatusOr<BenchRow> bench_bytes(const BenchOptions& options, Client& client,
                                     std::uint64_t block_bytes) {
  LARDER_ASSIGN_OR_RETURN(const auto set, BenchSet::make(options, client, block_bytes));
  LARDER_RETURN_IF_ERROR(set->store_all());
  LARDER_ASSIGN_OR_RETURN(const auto rivals, BenchRivals::make(options, client, *set));
  BenchRow row{.bytes = block_bytes, .batch = set->batch(), .depth = set->depth()};
  row.limits = rivals->times();
  std::vector<BenchProgram> programs = rivals->programs();
  std::vector<BenchTimes*> times;
  for (BenchTimes& limit : row.limits)
    times.push_back(&limit);
  programs.push_back([&](const BenchTurn& turn, BenchTimes& to) {
    return larder_turn(options, client, *set, turn, to);
  });
  times.push_back(&row.larder);
  LARDER_RETURN_IF_ERROR(take_turns(options, programs, times));
  if (set->shm()) row.more.emplace_back("slab_pages", rivals->far_pages());
  LARDER_RETURN_IF_ERROR(set->remove_all());
  return row;
}

}  // namespace larder
