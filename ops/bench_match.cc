#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ops/bench.h"
#include "ops/bench_chains.h"
#include "ops/bench_load.h"
#include "ops/bench_round.h"
#include "ops/bench_store.h"
#include "ops/clock.h"
#include "ops/percentile.h"
#include "store/status_macros.h"
#include "tests/bench/limits/socket_limit.h"

namespace larder {
namespace {

constexpr std::size_t kReplyBytes = 64;
constexpr float kNsOfUs = 1000;

/// Matches in turns with an echo of as many bytes; with a load, also while it puts, and while it
/// burns as much CPU time as that took.
class MatchBench {
 public:
  MatchBench(const BenchOptions& options, std::unique_ptr<BenchLoad> load)
      : options_(options), load_(std::move(load)) {}
  absl::StatusOr<BenchRow> run();

 private:
  absl::Status prepare();
  absl::Status start_echo();
  absl::Status match_turn(const BenchTurn& turn, BenchTimes& times);
  absl::Status echo_turn(const BenchTurn& turn, BenchTimes& times);
  absl::Status loaded_turn(const BenchTurn& turn, BenchTimes& times);
  absl::Status control_turn(const BenchTurn& turn, BenchTimes& times);
  absl::Status tell_load(BenchRow& row);

  const BenchOptions& options_;
  std::unique_ptr<BenchLoad> load_;
  std::unique_ptr<Client> client_;
  std::optional<BenchChains> chains_;
  std::mt19937_64 rng_{1};
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> near_, far_;
  std::unique_ptr<SocketLimit> echo_;
  BenchTimes loaded_{.name = "loaded", .mib_s = {}, .us = {}};
  BenchTimes control_{.name = "control", .mib_s = {}, .us = {}};
  pid_t server_ = 0;
  double load_cores_ = 0;  ///< that the load took in its last turn, in both processes
  std::vector<double> load_mib_s_, load_cores_all_;
  double evicted_before_ = 0;
};

absl::Status MatchBench::prepare() {
  if (load_ != nullptr) {
    LARDER_ASSIGN_OR_RETURN(server_, server_pid(options_.connection));
  }
  LARDER_ASSIGN_OR_RETURN(client_, connect(options_.connection, options_.spin_us));
  LARDER_ASSIGN_OR_RETURN(chains_, BenchChains::store(options_, *client_));
  bytes_ = options_.positions * sizeof(BlockHash);
  if (load_ != nullptr) {
    LARDER_RETURN_IF_ERROR(chains_->pin_all(*client_));
    LARDER_RETURN_IF_ERROR(load_->fill());
    LARDER_ASSIGN_OR_RETURN(evicted_before_, evictions_of(*client_));
  }
  return start_echo();
}

absl::Status MatchBench::start_echo() {
  near_.resize(bytes_);
  far_.resize(bytes_);
  const SocketLimit::Options echo{.load = SocketLimit::Load::kEcho,
                                  .tcp = client_->stats().transport == "tcp",
                                  .block_bytes = bytes_,
                                  .call_bytes = bytes_,
                                  .reply_bytes = kReplyBytes,
                                  .depth = 1,
                                  .near = near_,
                                  .far = far_,
                                  .clock = &clock_now};
  LARDER_ASSIGN_OR_RETURN(echo_, SocketLimit::start(echo));
  return absl::OkStatus();
}

absl::Status MatchBench::match_turn(const BenchTurn& turn, BenchTimes& times) {
  BenchTimer timer(turn, clock_now());
  while (timer.more(clock_now())) {
    const std::vector<BlockHash> drawn = chains_->draw(rng_);
    const std::span<const BlockHash> chain(drawn);
    const Time start = clock_now();
    const auto found = client_->match(chains_->ns(), std::span(&chain, 1));
    const Duration spent = clock_now() - start;
    LARDER_RETURN_IF_ERROR(found.status());
    if (found->at(0).usable_units != options_.positions) {
      return absl::UnavailableError(
          fmt::format("{} of {} positions were usable: is larderd in other use?",
                      found->at(0).usable_units, options_.positions));
    }
    times.us.push_back(us_between(start, start + spent));
    times.residence_us.push_back(static_cast<float>(found->at(0).residence_ns) / kNsOfUs);
    timer.add(spent);
  }
  times.mib_s.push_back(timer.mib_s(bytes_));
  return absl::OkStatus();
}

absl::Status MatchBench::echo_turn(const BenchTurn& turn, BenchTimes& times) {
  BenchTimer timer(turn, clock_now());
  echo_->let_peer(true);  // also through the pauses
  const bool paused = turn.pause.count() > 0;
  while (timer.more(clock_now())) {
    const Time start = clock_now();
    const std::uint64_t most = paused ? 1 : (turn.count != 0 ? turn.count : ~0ULL);
    const std::uint64_t calls =
        echo_->run(turn.count != 0 ? Duration::max() : turn.duration, most, times.us);
    timer.add(clock_now() - start, calls);
  }
  echo_->let_peer(false);
  times.mib_s.push_back(timer.mib_s(bytes_));
  return absl::OkStatus();
}

/// The load's CPU time is all of its own process and what larderd spent on other than matches.
absl::Status MatchBench::loaded_turn(const BenchTurn& turn, BenchTimes& times) {
  const auto before = static_cast<std::ptrdiff_t>(times.residence_us.size());
  LARDER_ASSIGN_OR_RETURN(const Duration cpu, cpu_time_of(server_));
  const Time start = clock_now();
  LARDER_RETURN_IF_ERROR(load_->start_puts());
  LARDER_RETURN_IF_ERROR(match_turn(turn, times));
  LARDER_ASSIGN_OR_RETURN(const BenchLoad::Done done, load_->stop());
  const double seconds = seconds_between(start, clock_now());
  LARDER_ASSIGN_OR_RETURN(const Duration cpu_after, cpu_time_of(server_));
  const float matches =
      std::accumulate(times.residence_us.begin() + before, times.residence_us.end(), 0.0F) / 1e6F;
  const double server = std::chrono::duration<double>(cpu_after - cpu).count() - matches;
  load_cores_ = (std::max(0.0, server) + static_cast<double>(done.cpu_ns) / 1e9) / seconds;
  load_cores_all_.push_back(load_cores_);
  load_mib_s_.push_back(static_cast<double>(done.bytes) / 0x1p20 / seconds);
  return absl::OkStatus();
}

absl::Status MatchBench::control_turn(const BenchTurn& turn, BenchTimes& times) {
  LARDER_RETURN_IF_ERROR(load_->start_dummy(load_cores_));
  LARDER_RETURN_IF_ERROR(match_turn(turn, times));
  return load_->stop().status();
}

absl::Status MatchBench::tell_load(BenchRow& row) {
  LARDER_ASSIGN_OR_RETURN(const double evicted, evictions_of(*client_));
  const double idle = percentile(row.larder.residence_us, 99);
  const double loaded = percentile(loaded_.residence_us, 99);
  row.more.emplace_back("loaded_residence_us_p50", percentile(loaded_.residence_us, 50));
  row.more.emplace_back("loaded_residence_us_p99", loaded);
  row.more.emplace_back("residence_p99_ratio", loaded / idle);
  row.more.emplace_back("loaded_us_p50", percentile(loaded_.us, 50));
  row.more.emplace_back("loaded_us_p99", percentile(loaded_.us, 99));
  row.more.emplace_back("control_us_p50", percentile(control_.us, 50));
  row.more.emplace_back("control_us_p99", percentile(control_.us, 99));
  row.more.emplace_back("load_mib_s", median(load_mib_s_));
  row.more.emplace_back("load_cores", median(load_cores_all_));
  row.more.emplace_back("load_evicted", static_cast<std::uint64_t>(evicted - evicted_before_));
  return absl::OkStatus();
}

absl::StatusOr<BenchRow> MatchBench::run() {
  LARDER_RETURN_IF_ERROR(prepare());
  BenchRow row{.bytes = bytes_, .batch = options_.positions, .depth = 1};
  row.limits.push_back({.name = echo_->name(), .mib_s = {}, .us = {}});
  const auto bound = [this](auto method) {
    return [this, method](const BenchTurn& turn, BenchTimes& times) {
      return (this->*method)(turn, times);
    };
  };
  std::vector<BenchProgram> programs{bound(&MatchBench::echo_turn), bound(&MatchBench::match_turn)};
  std::vector<BenchTimes*> times{&row.limits[0], &row.larder};
  if (load_ != nullptr) {
    programs.push_back(bound(&MatchBench::loaded_turn));
    programs.push_back(bound(&MatchBench::control_turn));
    times.insert(times.end(), {&loaded_, &control_});
  }
  LARDER_RETURN_IF_ERROR(take_turns(options_, programs, times));
  row.more.emplace_back("chains", chains_->chains());
  row.more.emplace_back("blocks", chains_->blocks());
  row.more.emplace_back("residence_us_p50", percentile(row.larder.residence_us, 50));
  row.more.emplace_back("residence_us_p99", percentile(row.larder.residence_us, 99));
  if (load_ != nullptr) LARDER_RETURN_IF_ERROR(tell_load(row));
  LARDER_RETURN_IF_ERROR(chains_->remove_all(*client_));
  return row;
}

}  // namespace

absl::StatusOr<BenchRow> bench_match(const BenchOptions& options) {
  std::unique_ptr<BenchLoad> load;
  if (options.under_load) {
    LARDER_ASSIGN_OR_RETURN(load, BenchLoad::fork(options));
  }
  return MatchBench(options, std::move(load)).run();
}

}  // namespace larder
