#include "ops/bench_rivals.h"

#include <algorithm>

#include "ops/clock.h"
#include "store/status_macros.h"
#include "tests/bench/limits/bare_copy.h"
#include "tests/bench/limits/fastest_socket.h"

namespace larder {
namespace {

/// A slice of the trial that finds the fastest socket: all of it takes about half of the time
/// that is then measured, but slices have a few calls at least.
Duration trial_slice(const BenchOptions& options) {
  const auto slice = std::chrono::duration<double>(options.seconds / 100);
  return std::clamp<Duration>(std::chrono::duration_cast<Duration>(slice),
                              std::chrono::milliseconds(4), std::chrono::milliseconds(30));
}

std::vector<BenchTimes> named(const auto& rivals) {
  std::vector<BenchTimes> out;
  for (const auto& rival : rivals)
    out.push_back({.name = rival.name, .mib_s = {}, .us = {}});
  return out;
}

absl::Status gone(const std::string& what) {
  return absl::UnavailableError(what + ": the limit could not be measured");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchRivals>> BenchRivals::make(const BenchOptions& options,
                                                               Client& client, BenchSet& set) {
  std::unique_ptr<BenchRivals> made(new BenchRivals(options, client, set));
  LARDER_RETURN_IF_ERROR(made->prepare());
  return made;
}

absl::Status BenchRivals::prepare() {
  LARDER_RETURN_IF_ERROR(prepare_far());
  if (!set_.shm()) return prepare_socket();
  if (put() && options_.heap) {
    LARDER_ASSIGN_OR_RETURN(other_process_, ProcessRead::start(set_.near()));
  }
  add_copies();
  return absl::OkStatus();
}

/// Pages of the same kind as those of the slab that holds the set's first block.
absl::Status BenchRivals::prepare_far() {
  auto pages = BenchArea::Pages::kShared;
  if (set_.shm()) {
    const BenchSet::Call call = set_.next_call();
    LARDER_ASSIGN_OR_RETURN(const auto views, client_.view(set_.ns(), call.keys, {}));
    if (BenchArea::is_huge(views[0].bytes())) pages = BenchArea::Pages::kSharedHuge;
    set_.restart();
  }
  LARDER_ASSIGN_OR_RETURN(far_, BenchArea::make(set_.near().size(), pages));
  far_pages_ = BenchArea::is_huge(far_.bytes()) ? "2 MiB" : "4 KiB";
  return absl::OkStatus();
}

absl::Status BenchRivals::prepare_socket() {
  const SocketLimit::Options limit{
      .load = put() ? SocketLimit::Load::kPut : SocketLimit::Load::kGet,
      .tcp = true,
      .block_bytes = set_.block_bytes(),
      .call_bytes = set_.call_bytes(),
      .depth = set_.depth(),
      .near = set_.near(),
      .far = far_.bytes(),
      .clock = &clock_now};
  LARDER_ASSIGN_OR_RETURN(socket_, fastest_socket(limit, trial_slice(options_)));
  rivals_.push_back({.name = socket_->name(), .copy = nullptr});
  return absl::OkStatus();
}

void BenchRivals::add_copies() {
  const auto add = [](std::vector<Rival>& to, BareCopy way) {
    to.push_back({.name = name_of(way), .copy = [way](auto from, std::byte* target) {
                    bare_copy(way, from, target);
                    return true;
                  }});
  };
  add(bare_, BareCopy::kMemcpy);
  add(bare_, BareCopy::kStreaming);
  if (!put()) {
    rivals_ = bare_;
    return;
  }
  if (other_process_ == nullptr) {
    add(rivals_, BareCopy::kMemcpyThenSum);
    add(rivals_, BareCopy::kFusedSum);
    add(rivals_, BareCopy::kFusedStreamingSum);
    add(rivals_, BareCopy::kTwiceStreamingSum);
    return;
  }
  for (const auto way : {ProcessRead::Way::kReadThenSum, ProcessRead::Way::kFusedSum}) {
    rivals_.push_back({.name = ProcessRead::name_of(way), .copy = [this, way](auto from, auto* to) {
                         return other_process_->read(way, from, to);
                       }});
  }
}

std::vector<BenchTimes> BenchRivals::times() const {
  return named(rivals_);
}
std::vector<BenchTimes> BenchRivals::bare_times() const {
  return named(bare_);
}
std::vector<BenchProgram> BenchRivals::programs() {
  return programs_of(rivals_);
}
std::vector<BenchProgram> BenchRivals::bare_programs() {
  return programs_of(bare_);
}

std::vector<BenchProgram> BenchRivals::programs_of(const std::vector<Rival>& rivals) {
  std::vector<BenchProgram> out;
  for (const Rival& rival : rivals) {
    out.push_back([this, &rival](const BenchTurn& turn, BenchTimes& times) {
      return rival.copy ? copy_turn(rival.copy, turn, times) : socket_turn(turn, times);
    });
  }
  return out;
}

absl::Status BenchRivals::copy_turn(const CopyBlock& copy, const BenchTurn& turn,
                                    BenchTimes& times) {
  BenchTimer timer(turn, clock_now());
  while (timer.more(clock_now())) {
    LARDER_RETURN_IF_ERROR(put() ? copy_put(copy, timer, times) : copy_get(copy, timer, times));
  }
  times.mib_s.push_back(timer.mib_s(set_.call_bytes()));
  return absl::OkStatus();
}

absl::Status BenchRivals::copy_get(const CopyBlock& copy, BenchTimer& timer, BenchTimes& times) {
  const BenchSet::Call call = set_.next_call();
  LARDER_ASSIGN_OR_RETURN(const auto views, client_.view(set_.ns(), call.keys, {}));
  const Time start = clock_now();
  bool good = true;
  for (std::size_t n = 0; n < views.size(); ++n) {
    good = good && views[n].status() == KeyStatus::kOk &&
           copy(views[n].bytes(), set_.near(call.first + n).data());
  }
  const Duration spent = clock_now() - start;
  times.us.push_back(us_between(start, start + spent));
  timer.add(spent);
  return good ? absl::OkStatus() : gone("a block is no longer in larderd");
}

absl::Status BenchRivals::copy_put(const CopyBlock& copy, BenchTimer& timer, BenchTimes& times) {
  const std::size_t at = far_at_ * set_.call_bytes();
  far_at_ = (far_at_ + 1) % (far_.bytes().size() / set_.call_bytes());
  const Time start = clock_now();
  bool good = true;
  for (std::size_t n = 0; n < set_.call_bytes(); n += set_.block_bytes()) {
    good =
        good && copy(set_.near().subspan(at + n, set_.block_bytes()), far_.bytes().data() + at + n);
  }
  const Duration spent = clock_now() - start;
  times.us.push_back(us_between(start, start + spent));
  timer.add(spent);
  return good ? absl::OkStatus() : gone("process_vm_readv");
}

absl::Status BenchRivals::socket_turn(const BenchTurn& turn, BenchTimes& times) {
  BenchTimer timer(turn, clock_now());
  socket_->let_peer(true);  // also through the pauses
  const bool bursts = turn.pause.count() > 0;
  while (timer.more(clock_now())) {
    const Time start = clock_now();
    const std::uint64_t most = turn.count != 0 ? turn.count : ~0ULL;
    const std::uint64_t calls = socket_->run(turn.count != 0 ? Duration::max() : turn.duration,
                                             bursts ? set_.depth() : most, times.us);
    timer.add(clock_now() - start, calls);
  }
  socket_->let_peer(false);
  times.mib_s.push_back(timer.mib_s(set_.call_bytes()));
  return absl::OkStatus();
}

}  // namespace larder
