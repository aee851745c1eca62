#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "actors/shard_desk.h"
#include "store/node_store.h"

namespace larder {

/// The work of the slab actor, free of CAF: provides free slots. Makes a slab while capacity
/// allows, else has shards evict from the same pool, else empties the least valuable slab of
/// another pool and makes it anew.
///
/// One thread, which blocks on files and on the shards' answers.
class SlabDesk {
 public:
  /// What it asks of every shard or of one; each returns when that shard has done it (or died).
  struct Hooks {
    std::function<void()> settle;  ///< every shard evicts what it may while the ledger is over
    /// Blocks evicted by that shard.
    std::function<std::uint32_t(ShardId, const PoolName&, std::uint32_t count)> evict_pool;
    std::function<void(SlabId)> evict_slab;  ///< every shard: what of it stands in the slab
    std::function<std::string(TenantId)> tenant_name;
    /// Sessions are told that a slab is gone before its files are.
    std::function<void(SlabId)> announce_retired;
    /// One line a transition; the caller logs.
    std::function<void(const std::string&)> log;
  };

  SlabDesk(NodeStore& store, Hooks hooks) : store_(store), hooks_(std::move(hooks)) {}

  /// True when at least one slot of the pool is free, or may be taken by asking again.
  bool provide(const PoolName& pool, std::uint32_t count);

 private:
  bool settle(const PoolName& pool, std::uint32_t count);
  bool grow(const PoolName& pool);
  bool evict_from_pool(const PoolName& pool, std::uint32_t count);
  bool reclaim(const PoolName& pool);
  bool empty_slab(SlabId id);

  NodeStore& store_;
  Hooks hooks_;
};

}  // namespace larder
