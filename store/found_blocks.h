#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/types.h"

namespace larder {

/// A block that a rebuilding shard found in its index.
struct FoundBlock {
  std::uint32_t age = 0;  ///< kUseTick since its last use, where that matters
  std::uint32_t position = 0;
  EntryId id;
  friend auto operator<=>(const FoundBlock&, const FoundBlock&) = default;
};

/// Blocks found in any order, handed out by age, then position: a parent before its children, which
/// were not used later. Sorts runs of
/// kRun as they come and merges them with a heap, so that no step sorts or copies all of them:
/// take_first() is O(log runs). Owns 12 bytes a block. Not thread-safe.
class FoundBlocks {
 public:
  void add(const FoundBlock& found);
  /// Once, after the last add() and before the first take_first().
  void close() { finish_run(); }
  bool empty() const { return heap_.empty(); }
  /// Not when empty().
  FoundBlock take_first();

 private:
  /// Sorted; in the heap it has a next one.
  struct Run {
    std::vector<FoundBlock> blocks;
    std::size_t next = 0;
    const FoundBlock& front() const { return blocks[next]; }
  };
  static bool later(const Run& a, const Run& b) { return a.front() > b.front(); }
  static constexpr std::size_t kRun = 8'192;
  void finish_run();

  std::vector<FoundBlock> open_run_;
  std::vector<Run> heap_;
};

}  // namespace larder
