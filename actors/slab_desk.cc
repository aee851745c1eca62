#include "actors/slab_desk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace larder {

namespace {

constexpr int kSlabsTriedMax = 4;

}  // namespace

bool SlabDesk::provide(const PoolName& pool, std::uint32_t count) {
  if (!settle(pool, count)) return false;
  if (store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0 || grow(pool)) return true;
  // What other sizes leave unused goes before this size's own blocks: else it never had more slabs
  // than it began with, however much of the capacity is free.
  if (store_.pools.has_spare_slab(pool.tenant, pool.slot_bytes) && reclaim(pool)) return true;
  return evict_from_pool(pool, count) || reclaim(pool);
}

/// Has the shards evict until `count` more slots (or what the capacity holds of them) fit. False:
/// not even one does, all that is left is held.
bool SlabDesk::settle(const PoolName& pool, std::uint32_t count) {
  const Bytes capacity = store_.ledger.capacity();
  if (pool.slot_bytes > capacity) return false;
  const Bytes wanted = std::min(pool.slot_bytes * count, capacity);
  // Charged for a moment: what is over capacity is what the shards evict.
  store_.ledger.charge(wanted);
  Bytes before = store_.ledger.used();
  while (store_.ledger.over()) {
    hooks_.settle();
    if (store_.ledger.used() >= before) break;
    before = store_.ledger.used();
  }
  store_.ledger.refund(wanted);
  return store_.ledger.used() + pool.slot_bytes <= capacity;
}

bool SlabDesk::grow(const PoolName& pool) {
  if (!store_.slabs.may_grow(pool.tenant, pool.slot_bytes)) return false;
  auto slab = store_.slabs.create(pool.tenant, hooks_.tenant_name(pool.tenant), pool.slot_bytes);
  if (!slab.ok()) {
    hooks_.log(fmt::format("slab_not_made slot_bytes={} error=\"{}\"", pool.slot_bytes.count,
                           std::string(slab.status().message())));
    return false;
  }
  store_.pools.add_slab(**slab);
  return true;
}

bool SlabDesk::evict_from_pool(const PoolName& pool, std::uint32_t count) {
  std::uint32_t evicted = 0;
  for (std::uint32_t i = 0; i < store_.shards() && evicted < count; ++i) {
    evicted += hooks_.evict_pool(ShardId(i), pool, count - evicted);
  }
  return store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0;
}

/// Empties whole slabs of other pools until a new slab fits.
bool SlabDesk::reclaim(const PoolName& pool) {
  for (int tried = 0; tried < kSlabsTriedMax;) {
    const std::vector<SlabId> candidates = store_.pools.reclaim_order(pool.tenant, pool.slot_bytes);
    bool progress = false;
    for (const SlabId slab : candidates) {
      if (tried == kSlabsTriedMax) return false;
      tried += 1;
      if (!empty_slab(slab)) continue;
      progress = true;
      if (grow(pool)) return true;
      tried = 0;  // a large slot takes several slabs
      break;
    }
    if (!progress) return false;
  }
  return false;
}

bool SlabDesk::empty_slab(SlabId id) {
  store_.pools.close_slab(id);
  hooks_.evict_slab(id);
  if (!store_.pools.remove_closed_slab(id)) {
    store_.pools.reopen_slab(id);
    return false;
  }
  hooks_.announce_retired(id);
  if (absl::Status retired = store_.slabs.retire(id); !retired.ok()) {
    hooks_.log(fmt::format("slab_not_retired slab={} error=\"{}\"", id.value(),
                           std::string(retired.message())));
  }
  return true;
}

}  // namespace larder
