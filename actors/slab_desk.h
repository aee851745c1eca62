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

/// The work of the slab actor, free of CAF: finds free slots for a pool. Makes a slab while
/// capacity (and its tenant's quota) allows, else has the shards evict, else empties a slab of
/// another pool and makes it anew: one of the same tenant, if that has its quota in slabs. Retires
/// slabs and, when nobody can see them any more, unmaps them.
///
/// Blocks on files and on the shards. One thread.
class SlabDesk {
 public:
  /// A retired slab stays mapped for this long at least, beyond what io threads may still see: what
  /// was sent off with an address in it is long over.
  static constexpr Duration kLinger = std::chrono::seconds(30);

  /// What it asks of every shard or of one; each returns when that shard has done it (or died).
  struct Hooks {
    std::function<void()> settle;  ///< every shard evicts what it may while a budget is over
    /// Blocks evicted by that shard.
    std::function<std::uint32_t(ShardId, const PoolName&, std::uint32_t count)> evict_pool;
    /// The slabs of the shards' cheapest victims outside the pool.
    std::function<std::vector<SlabVictim>(const PoolName&)> cheapest_slabs;
    std::function<void(SlabId)> evict_slab;  ///< every shard: what of it stands in the slab
    std::function<std::string(TenantId)> tenant_name;
    std::function<void(SlabId)> announce_retired;  ///< before its files are gone
    std::function<void(const std::string&)> log;   ///< one line a transition
    /// Whether the machine has this much memory for a slab; null: it has.
    std::function<bool(Bytes, Time)> may_take;
  };

  /// `store` outlives the desk.
  SlabDesk(NodeStore& store, Hooks hooks);

  /// True when `pool` has a free slot, and node and tenant have room for it; tries for `count`.
  bool provide(const PoolName& pool, std::uint32_t count, Time now);
  /// Unmaps what was retired long enough ago; after the capacity, or what slabs may take, was
  /// lowered, empties a few slabs, those with the fewest blocks first: their memory is free at
  /// once.
  void upkeep(Time now);

 private:
  struct Retired {
    SlabId id;
    Epoch epoch;
    Time at;
  };

  void grow_to(const PoolName& pool, std::uint32_t count, Time now);
  /// Slabs that were emptied to make one anew.
  struct GivenUp {
    Bytes of_tenant;
    Bytes all;
  };
  bool grow(const PoolName& pool, Time now, const GivenUp& given_up = {});
  void log_not_made(const PoolName& pool, const absl::Status& why, Time now);
  bool settle(const PoolName& pool, std::uint32_t count);
  bool make_room(Budget& budget, Bytes wanted, Bytes least);
  bool evict_from_pool(const PoolName& pool, std::uint32_t count);
  bool has_place(const PoolName& pool);
  bool reclaim(const PoolName& pool, Time now);
  std::vector<SlotPools::SlabUse> reclaim_order(const PoolName& pool);
  bool empty_slab(SlabId id, Time now);
  void release_retired(Time now);
  void shrink(Time now);
  void release_idle(Time now);

  NodeStore& store_;
  Hooks hooks_;
  std::deque<Retired> retired_;
  Bytes capacity_;                   ///< when it was last looked at
  Time idle_looked_;                 ///< when slabs without a block were last looked for
  bool shrinking_ = false;           ///< it was lowered, and slabs stand beyond it still
  Time shrink_again_{};              ///< not before: what stands beyond it is held
  std::optional<Time> cannot_make_;  ///< when a slab was not made although there was room for it
  std::optional<Time> not_made_logged_;  ///< when the last line of a slab that was not made was
  std::uint64_t not_made_unlogged_ = 0;  ///< how many had none since
};

}  // namespace larder
