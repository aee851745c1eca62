#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "store/types.h"

namespace larder {

/// How long things took, in fixed buckets: the first ends at 1 µs, each other at twice the one
/// before it, the last holds what took longer than 16.8 s. So two nodes' histograms can be added.
///
/// Any thread adds: two relaxed additions, no lock, no allocation. Any thread reads; a reader may
/// see a time counted whose share of the sum is not there yet.
class LatencyHistogram {
 public:
  static constexpr std::size_t kBounds = 25;

  /// Upper end (inclusive) of bucket `i`, i < kBounds.
  static constexpr Duration bound(std::size_t i) {
    return std::chrono::microseconds(std::int64_t{1} << i);
  }
  static constexpr std::size_t bucket_of(Duration time) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
    const std::uint64_t us = (ns + 999) / 1000;
    return us <= 1 ? 0 : std::min<std::size_t>(std::bit_width(us - 1), kBounds);
  }

  void add(Duration time) {
    counts_[bucket_of(time)].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)),
                      std::memory_order_relaxed);
  }
  /// Times in bucket `i` alone, i <= kBounds.
  std::uint64_t count(std::size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  Duration sum() const {
    return Duration(static_cast<std::int64_t>(sum_ns_.load(std::memory_order_relaxed)));
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds + 1> counts_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

/// What is timed: from the moment when the io thread turns to the call until its answer (over tcp,
/// a get's last byte) is queued for the socket. Layer-by-layer puts last as long as their model
/// computes and are not among them.
enum class Operation : std::uint8_t { kMatch, kGet, kPut };
inline constexpr std::array<const char*, 3> kOperationNames = {"match", "get", "put"};
inline constexpr std::array<const char*, 2> kTransportNames = {"tcp", "shm"};

/// One histogram for each operation and transport.
class OperationTimes {
 public:
  void add(Operation operation, bool shm, Duration time) {
    times_[static_cast<std::size_t>(operation)][shm ? 1 : 0].add(time);
  }
  /// By position in kOperationNames and kTransportNames.
  const LatencyHistogram& of(std::size_t operation, std::size_t transport) const {
    return times_[operation][transport];
  }

 private:
  std::array<std::array<LatencyHistogram, kTransportNames.size()>, kOperationNames.size()> times_;
};

}  // namespace larder
