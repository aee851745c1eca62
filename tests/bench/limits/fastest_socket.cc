#include "tests/bench/limits/fastest_socket.h"

#include <algorithm>
#include <array>

#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::size_t kTurns = 3;
constexpr unsigned kGap = 2000;  // about a microsecond

struct Candidate {
  SocketTuning tuning;
  std::unique_ptr<SocketLimit> limit;
  std::array<double, kTurns> calls_a_second{};

  double median() {
    std::sort(calls_a_second.begin(), calls_a_second.end());
    return calls_a_second[kTurns / 2];
  }
};

std::vector<SocketTuning> tunings() {
  std::vector<SocketTuning> out;
  for (const std::size_t chunk :
       {std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20}) {
    for (const int window : {0, 256 << 10, 1 << 20}) {
      for (const unsigned gap : {0U, kGap}) {
        out.push_back({.chunk_bytes = chunk, .window_bytes = window, .gap = gap});
      }
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketLimit>> fastest_socket(SocketLimit::Options options,
                                                            Duration slice) {
  std::vector<Candidate> candidates;
  for (const SocketTuning& tuning : tunings()) {
    options.tuning = tuning;
    LARDER_ASSIGN_OR_RETURN(auto limit, SocketLimit::start(options));
    candidates.push_back({.tuning = tuning, .limit = std::move(limit)});
  }
  std::vector<float> us;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (Candidate& candidate : candidates) {
      candidate.limit->let_peer(true);
      const Time start = options.clock();
      const std::uint64_t calls = candidate.limit->run(slice, ~0ULL, us);
      const std::chrono::duration<double> spent = options.clock() - start;
      candidate.limit->let_peer(false);
      candidate.calls_a_second[turn] = static_cast<double>(calls) / spent.count();
    }
  }
  const auto best =
      std::max_element(candidates.begin(), candidates.end(),
                       [](Candidate& a, Candidate& b) { return a.median() < b.median(); });
  return std::move(best->limit);
}

}  // namespace larder
