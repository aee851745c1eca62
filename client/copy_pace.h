#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "store/types.h"

namespace larder {

/// How long the daemon needs to copy the bytes of a put, learnt from its replies. A caller that
/// sleeps until the answer is there pays for being woken, which takes as long as half a megabyte;
/// one that polls all the time burns a core beside the copy. So it sleeps through most of it and
/// polls around the time at which the answer is due. Not thread-safe: the engine's lock holds it.
class CopyPace {
 public:
  /// From the frame to the answer.
  Duration expected(std::uint64_t bytes) const {
    return kRest + Duration(static_cast<Duration::rep>(static_cast<double>(bytes) * ns_a_byte_));
  }
  /// `residence`: inside the daemon, as it says. A put that waited there for room tells little: one
  /// of them makes the next at most an eighth later.
  void learn(std::uint64_t bytes, Duration residence) {
    if (bytes < kTellsEnough || residence <= kRest) return;
    const double seen =
        static_cast<double>((residence - kRest).count()) / static_cast<double>(bytes);
    ns_a_byte_ += kWeight * (std::clamp(seen, kFastest, kOutlier * ns_a_byte_) - ns_a_byte_);
    ns_a_byte_ = std::min(ns_a_byte_, kSlowest);
  }

 private:
  static constexpr Duration kRest = std::chrono::microseconds(30);  ///< what is no copying
  static constexpr std::uint64_t kTellsEnough = 128 << 10;
  static constexpr double kWeight = 0.25;
  static constexpr double kOutlier = 1.5;   ///< times what is expected, at most
  static constexpr double kFastest = 0.01;  ///< 100 GB/s
  static constexpr double kSlowest = 4;     ///< 250 MB/s: a daemon with more to do than this
  double ns_a_byte_ = 0.2;
};

}  // namespace larder
