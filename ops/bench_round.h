#pragma once

#include <functional>

#include "ops/bench_set.h"

namespace larder {

/// How long one program's turn lasts, and what lies between its calls.
struct BenchTurn {
  Duration duration{0};
  std::uint64_t count = 0;  ///< calls, instead of the duration; 0: by time
  Duration pause{0};        ///< after each call; then the duration is that of calls and pauses
};

/// Times calls of one program until its turn is over, at least one.
class BenchTimer {
 public:
  BenchTimer(const BenchTurn& turn, Time now) : turn_(turn), began_(now) {}
  /// Another call may begin.
  bool more(Time now) const;
  /// A call was made; sleeps for the pause.
  void add(Duration spent, std::uint64_t calls = 1);
  std::uint64_t calls() const { return calls_; }
  Duration spent() const { return spent_; }
  /// Of calls alone, without what lay between them.
  double mib_s(std::uint64_t call_bytes) const;

 private:
  BenchTurn turn_;
  Time began_;
  Duration spent_{0};
  std::uint64_t calls_ = 0;
};

/// What a program does in its turn; adds a rate and its calls' times.
using BenchProgram = std::function<absl::Status(const BenchTurn& turn, BenchTimes& times)>;

/// The turns of `options`: rounds in which `programs` come one after the other, after a round that
/// is not counted. `times[i]` are those of `programs[i]`.
absl::Status take_turns(const BenchOptions& options, std::span<const BenchProgram> programs,
                        std::span<BenchTimes* const> times);

/// One turn of gets or puts with as many calls outstanding as the set says.
absl::Status larder_turn(const BenchOptions& options, Client& client, BenchSet& set,
                         const BenchTurn& turn, BenchTimes& times);

}  // namespace larder
