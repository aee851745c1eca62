#include <fmt/format.h>

#include "ops/bench.h"
#include "ops/bench_round.h"
#include "ops/clock.h"
#include "store/status_macros.h"

namespace larder {
namespace {

absl::Status one_view(Client& client, BenchSet& set, BenchTimer& timer, BenchTimes& times) {
  const BenchSet::Call call = set.next_call();
  const Time start = clock_now();
  auto views = client.view(set.ns(), call.keys, {});
  LARDER_RETURN_IF_ERROR(views.status());
  bool good = true;
  for (View& view : *views) {
    good = view.status() == KeyStatus::kOk && view.release() && good;
  }
  const Duration spent = clock_now() - start;
  times.us.push_back(us_between(start, start + spent));
  timer.add(spent);
  return good ? absl::OkStatus() : absl::UnavailableError("a view was of a block that is gone");
}

}  // namespace

absl::StatusOr<BenchRow> bench_view(const BenchOptions& given, Client& client,
                                    std::uint64_t block_bytes) {
  BenchOptions options = given;
  if (options.batch == 0) options.batch = 1;
  LARDER_ASSIGN_OR_RETURN(const auto set, BenchSet::make(options, client, block_bytes));
  if (!set->shm()) return absl::InvalidArgumentError("--transport tcp: a view needs shared memory");
  LARDER_RETURN_IF_ERROR(set->store_all());
  BenchRow row{.bytes = block_bytes, .batch = set->batch(), .depth = 1};
  const BenchProgram views = [&](const BenchTurn& turn, BenchTimes& times) -> absl::Status {
    BenchTimer timer(turn, clock_now());
    while (timer.more(clock_now())) {
      LARDER_RETURN_IF_ERROR(one_view(client, *set, timer, times));
    }
    return absl::OkStatus();
  };
  BenchTimes* const times = &row.larder;
  LARDER_RETURN_IF_ERROR(take_turns(options, std::span(&views, 1), std::span(&times, 1)));
  LARDER_RETURN_IF_ERROR(set->remove_all());
  return row;
}

}  // namespace larder
