#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "store/ledger.h"
#include "store/types.h"

namespace larder {

/// A capacity that shards share: who finds it over evicts its own cheapest victim only while no
/// other shard has a cheaper one, so that what leaves is the cheapest of all. The node has one, and
/// each tenant. See "Capacity" in ARCHITECTURE.md.
///
/// Any thread; a few atomic loads or one store a method, no lock. Nothing fails.
class Budget {
 public:
  /// Values of a shard that has no victim, and of one that has not looked at all of its blocks: it
  /// may have one, dearer than all that is known.
  static constexpr double kNothing = std::numeric_limits<double>::infinity();
  static constexpr double kUnknown = std::numeric_limits<double>::max();

  Budget(Bytes capacity, std::uint32_t shards);

  /// Value of a shard's cheapest victim among the blocks that are charged here, or one of the two.
  /// Only who is at that shard's desk.
  void publish(ShardId shard, double value) {
    std::atomic<double>& published = cheapest_[shard.value()];
    // All shards' values share cache lines, and mostly nothing has changed.
    if (published.load(std::memory_order_relaxed) != value) {
      published.store(value, std::memory_order_relaxed);
    }
  }
  void withdraw(ShardId shard);
  struct Cheapest {
    ShardId shard;
    double value = 0;
  };
  /// Among the shards other than `own`, by what they published.
  Cheapest cheapest_besides(ShardId own) const;
  /// Whether a shard has published a victim.
  bool has_victim() const;
  /// Whether a shard is still looking for one.
  bool looks_on() const;

  Ledger ledger;

 private:
  std::vector<std::atomic<double>> cheapest_;
};

}  // namespace larder
