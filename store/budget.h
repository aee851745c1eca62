#pragma once

#include <atomic>
#include <cstdint>
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
  Budget(Bytes capacity, std::uint32_t shards);

  /// Value of a shard's cheapest victim among the blocks that are charged here; infinity: it has
  /// none. Only that shard's actor.
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
    double value = 0;  ///< infinity: nobody has a victim
  };
  /// Among the shards other than `own`, by what they published.
  Cheapest cheapest_besides(ShardId own) const;
  /// Whether a shard has published a victim.
  bool has_victim() const;

  Ledger ledger;

 private:
  std::vector<std::atomic<double>> cheapest_;
};

}  // namespace larder
