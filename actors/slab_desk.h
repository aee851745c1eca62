#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/shard_desk.h"
#include "store/node_store.h"

namespace larder {

/// What the slab desk asks of a shard. Each call returns when the shard has answered; one that died
/// answers nothing.
class ShardSteps {
 public:
  virtual ~ShardSteps() = default;
  virtual std::uint32_t shards() const = 0;
  /// Shard::evict_over once in every shard, at the same time.
  virtual void settle() = 0;
  virtual std::uint32_t evict_from_pool(ShardId shard, const PoolName& pool,
                                        std::uint32_t count) = 0;
  /// The slab of the shard's cheapest victim outside `pool`, and its value.
  virtual std::optional<SlabVictim> cheapest_slab(ShardId shard, const PoolName& pool) = 0;
  /// Evicts what of the shard stands in `slab`, all of it, in slices.
  virtual void evict_slab(ShardId shard, SlabId slab) = 0;
};

/// The work of the slab actor, free of CAF: finds free slots for a pool. Makes a slab while
/// capacity allows, else has the shards evict, else empties a slab of another pool and makes it
/// anew. Retires slabs and, when nobody can see them any more, unmaps them.
///
/// Blocks on files and on the shards. One thread.
class SlabDesk {
 public:
  /// A retired slab stays mapped for this long at least, beyond what io threads may still see: what
  /// was sent off with an address in it is long over.
  static constexpr Duration kLinger = std::chrono::seconds(30);

  struct Hooks {
    std::function<std::string(TenantId)> tenant_name;
    std::function<void(SlabId)> announce_retired;  ///< before its files are gone
    std::function<void(const std::string&)> log;   ///< one line a transition
  };

  /// `store` and `shards` outlive the desk.
  SlabDesk(NodeStore& store, ShardSteps& shards, Hooks hooks);

  /// True when `pool` has a free slot and the ledger room for it; tries for `count`.
  bool provide(const PoolName& pool, std::uint32_t count, Time now);
  /// Unmaps what was retired long enough ago.
  void release_retired(Time now);

 private:
  struct Retired {
    SlabId id;
    Epoch epoch;
    Time at;
  };

  void grow_to(const PoolName& pool, std::uint32_t count);
  bool grow(const PoolName& pool);
  bool settle(const PoolName& pool, std::uint32_t count);
  bool anything_evictable() const;
  bool evict_from_pool(const PoolName& pool, std::uint32_t count);
  bool reclaim(const PoolName& pool, Time now);
  std::vector<SlabId> reclaim_order(const PoolName& pool);
  bool empty_slab(SlabId id, Time now);

  NodeStore& store_;
  ShardSteps& shards_;
  Hooks hooks_;
  std::deque<Retired> retired_;
};

}  // namespace larder
