#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/sim_trace.h"

namespace larder {

/// What LRU would do with every capacity at once: Mattson's stack distances (1970), found with a
/// Fenwick tree over the order of touches.
///
/// Exact: equal to a simulation at each capacity. Owns 4 bytes a reference while it is made, and 16
/// bytes a block of the trace.
class LruCurve {
 public:
  /// O(references × log references).
  explicit LruCurve(const SimTrace& trace);

  std::uint64_t references() const { return references_; }
  /// Inside the longest resident prefix, with room for `capacity` blocks.
  std::uint64_t hits(std::uint64_t capacity) const { return at_most(hits_, capacity); }
  /// Blocks not resident when they were referred to.
  std::uint64_t inserts(std::uint64_t capacity) const {
    return references_ - at_most(resident_, capacity);
  }
  std::uint64_t evictions(std::uint64_t capacity) const {
    return inserts(capacity) - std::min<std::uint64_t>(capacity, unique_);
  }

 private:
  /// [n]: references that need n blocks or fewer.
  using Cumulative = std::vector<std::uint64_t>;
  static std::uint64_t at_most(const Cumulative& counts, std::uint64_t capacity) {
    return counts[std::min<std::uint64_t>(capacity, counts.size() - 1)];
  }

  std::uint64_t references_ = 0;
  std::uint64_t unique_ = 0;
  Cumulative hits_;
  Cumulative resident_;
};

}  // namespace larder
