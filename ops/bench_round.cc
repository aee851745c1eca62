#include "ops/bench_round.h"

#include <map>
#include <thread>

#include <poll.h>

#include "ops/clock.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr double kMib = 0x1p20;

/// Keeps calls outstanding until the turn's time is up, or a put has used all its names. With a
/// pause, as many as may be outstanding are one burst.
class Window {
 public:
  Window(const BenchOptions& options, Client& client, BenchSet& set, BenchTimes& times)
      : put_(options.operation == BenchOptions::Operation::kPut),
        client_(client),
        set_(set),
        times_(times) {}

  /// Calls made. `until` is when no more are begun; `most` bounds their number.
  absl::StatusOr<std::uint64_t> run(Time until, std::uint64_t most);

 private:
  void submit();
  absl::StatusOr<std::uint64_t> drain();

  bool put_;
  Client& client_;
  BenchSet& set_;
  BenchTimes& times_;
  std::map<std::uint64_t, Time> open_;
};

absl::StatusOr<std::uint64_t> Window::run(Time until, std::uint64_t most) {
  std::uint64_t begun = 0;
  std::uint64_t calls = 0;
  bool more = true;
  while (more || !open_.empty()) {
    while (more && open_.size() < set_.depth()) {
      submit();
      begun += 1;
      more = begun < most && clock_now() < until && !(put_ && set_.at_start());
    }
    pollfd ready{.fd = client_.event_fd(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, -1);
    LARDER_ASSIGN_OR_RETURN(const std::uint64_t ended, drain());
    calls += ended;
  }
  return calls;
}

void Window::submit() {
  const BenchSet::Call call = set_.next_call();
  const Time now = clock_now();
  const std::uint64_t id = put_ ? client_.submit_put(set_.ns(), call.keys, call.from, {})
                                : client_.submit_get(set_.ns(), call.keys, call.into, {});
  open_.emplace(id, now);
}

absl::StatusOr<std::uint64_t> Window::drain() {
  std::uint64_t ended = 0;
  for (const Completion& done : client_.drain_completions()) {
    LARDER_RETURN_IF_ERROR(set_.check(done));
    const auto call = open_.find(done.id);
    if (call == open_.end()) continue;
    times_.us.push_back(us_between(call->second, clock_now()));
    open_.erase(call);
    ended += 1;
  }
  return ended;
}

absl::Status one_call(const BenchOptions& options, Client& client, BenchSet& set, BenchTimer& timer,
                      BenchTimes& times) {
  const BenchSet::Call call = set.next_call();
  const bool put = options.operation == BenchOptions::Operation::kPut;
  const Time start = clock_now();
  const Completion done = put ? client.put(set.ns(), call.keys, call.from, {})
                              : client.get(set.ns(), call.keys, call.into, {});
  const Duration spent = clock_now() - start;
  times.us.push_back(us_between(start, start + spent));
  timer.add(spent);
  return set.check(done);
}

absl::Status window_of_calls(const BenchOptions& options, Client& client, BenchSet& set,
                             const BenchTurn& turn, BenchTimer& timer, BenchTimes& times) {
  Window window(options, client, set, times);
  const Time start = clock_now();
  const bool bursts = turn.pause.count() > 0;
  const std::uint64_t most = turn.count != 0 ? turn.count - timer.calls() : ~0ULL;
  const Time until = turn.count != 0 ? Time::max() : start + (turn.duration - timer.spent());
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t calls,
                          window.run(bursts ? Time::max() : until,
                                     bursts ? std::min<std::uint64_t>(most, set.depth()) : most));
  timer.add(clock_now() - start, calls);
  return absl::OkStatus();
}

}  // namespace

bool BenchTimer::more(Time now) const {
  if (calls_ == 0) return true;
  if (turn_.count != 0) return calls_ < turn_.count;
  constexpr int kWallMax = 4;  // what lies between calls is bounded too
  if (now - began_ >= kWallMax * turn_.duration) return false;
  return (turn_.pause.count() > 0 ? now - began_ : spent_) < turn_.duration;
}

void BenchTimer::add(Duration spent, std::uint64_t calls) {
  spent_ += spent;
  calls_ += calls;
  if (turn_.pause.count() > 0) std::this_thread::sleep_for(turn_.pause);
}

double BenchTimer::mib_s(std::uint64_t call_bytes) const {
  const double seconds = std::chrono::duration<double>(spent_).count();
  return static_cast<double>(calls_ * call_bytes) / seconds / kMib;
}

absl::Status take_turns(const BenchOptions& options, std::span<const BenchProgram> programs,
                        std::span<BenchTimes* const> times) {
  const auto seconds = [](double value) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
  };
  const auto turns = static_cast<double>(options.rounds * programs.size());
  const BenchTurn turn{.duration = seconds(options.seconds / turns),
                       .count = options.count,
                       .pause = seconds(options.pause_ms / 1000)};
  for (std::uint32_t n = 0; n <= options.rounds; ++n) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      BenchTimes warm_up;
      LARDER_RETURN_IF_ERROR(programs[i](turn, n == 0 ? warm_up : *times[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status larder_turn(const BenchOptions& options, Client& client, BenchSet& set,
                         const BenchTurn& turn, BenchTimes& times) {
  const bool put = options.operation == BenchOptions::Operation::kPut;
  BenchTimer timer(turn, clock_now());
  while (timer.more(clock_now())) {
    if (put && set.at_start()) {  // not measured: all names are used
      if (!options.full) LARDER_RETURN_IF_ERROR(set.remove_all());
      set.rename();
    }
    LARDER_RETURN_IF_ERROR(set.depth() == 1
                               ? one_call(options, client, set, timer, times)
                               : window_of_calls(options, client, set, turn, timer, times));
  }
  times.mib_s.push_back(timer.mib_s(set.call_bytes()));
  return absl::OkStatus();
}

}  // namespace larder
