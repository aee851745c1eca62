#include "store/slot_pool.h"

#include <algorithm>
#include <tuple>

#include "store/assert.h"

namespace larder {

SlotPools::Pool* SlotPools::find(const Name& name) const {
  MutexLock lock(&mutex_);
  const auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : it->second.get();
}

SlotPools::Pool* SlotPools::pool_of(SlabId id) const {
  MutexLock lock(&mutex_);
  const auto it = by_slab_.find(id);
  return it == by_slab_.end() ? nullptr : it->second;
}

void SlotPools::add_slab(const Slab& slab) {
  add_slab(slab, [](std::uint32_t /*slot*/) { return true; });
}

void SlotPools::add_slab(const Slab& slab, absl::FunctionRef<bool(std::uint32_t)> is_free) {
  Pool* pool = nullptr;
  {
    MutexLock lock(&mutex_);
    const Name name{slab.tenant(), slab.slot_bytes()};
    auto& owner = pools_[name];
    if (owner == nullptr) owner = std::make_unique<Pool>(name);
    pool = owner.get();
    by_slab_[slab.id()] = pool;
  }
  MutexLock lock(&pool->mutex);
  Share& share = pool->shares[slab.id()];
  share.slots = slab.slots();
  for (std::uint32_t slot = slab.slots(); slot-- > 0;) {
    if (!is_free(slot)) continue;
    pool->free.push_back({slab.id(), slot});
    share.free += 1;
  }
}

bool SlotPools::take(TenantId tenant, Bytes slot_bytes, SlotRef* out) {
  return take_many(tenant, slot_bytes, {out, 1}) == 1;
}

std::uint32_t SlotPools::take_many(TenantId tenant, Bytes slot_bytes, std::span<SlotRef> out) {
  Pool* pool = find({tenant, slot_bytes});
  if (pool == nullptr) return 0;
  MutexLock lock(&pool->mutex);
  const std::size_t count = std::min(out.size(), pool->free.size());
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = pool->free.back();
    pool->free.pop_back();
    pool->shares[out[i].slab].free -= 1;
  }
  return static_cast<std::uint32_t>(count);
}

void SlotPools::give(const SlotRef& slot) {
  Pool* pool = pool_of(slot.slab);
  LARDER_ASSERT(pool != nullptr);
  MutexLock lock(&pool->mutex);
  Share& share = pool->shares[slot.slab];
  LARDER_ASSERT(share.free < share.slots);
  share.free += 1;
  if (share.closed) {
    share.held.push_back(slot);
  } else {
    pool->free.push_back(slot);
  }
}

void SlotPools::forget(const SlotRef& slot) {
  Pool* pool = pool_of(slot.slab);
  LARDER_ASSERT(pool != nullptr);
  MutexLock lock(&pool->mutex);
  Share& share = pool->shares[slot.slab];
  LARDER_ASSERT(share.free < share.slots);
  share.slots -= 1;
}

void SlotPools::close_slab(SlabId id) {
  Pool* pool = pool_of(id);
  if (pool == nullptr) return;
  MutexLock lock(&pool->mutex);
  Share& share = pool->shares[id];
  share.closed = true;
  const auto kept = std::stable_partition(pool->free.begin(), pool->free.end(),
                                          [id](const SlotRef& slot) { return slot.slab != id; });
  share.held.insert(share.held.end(), kept, pool->free.end());
  pool->free.erase(kept, pool->free.end());
}

void SlotPools::reopen_slab(SlabId id) {
  Pool* pool = pool_of(id);
  if (pool == nullptr) return;
  MutexLock lock(&pool->mutex);
  Share& share = pool->shares[id];
  share.closed = false;
  pool->free.insert(pool->free.end(), share.held.begin(), share.held.end());
  share.held.clear();
}

bool SlotPools::remove_closed_slab(SlabId id) {
  Pool* pool = pool_of(id);
  if (pool == nullptr) return false;
  {
    MutexLock lock(&pool->mutex);
    const Share& share = pool->shares[id];
    LARDER_ASSERT(share.closed);
    if (share.held.size() != share.slots) return false;
    pool->shares.erase(id);
  }
  MutexLock lock(&mutex_);
  by_slab_.erase(id);
  return true;
}

std::vector<SlotPools::SlabUse> SlotPools::slabs_of_others(TenantId tenant,
                                                           Bytes slot_bytes) const {
  std::vector<SlabUse> found;
  MutexLock lock(&mutex_);
  for (const auto& [name, pool] : pools_) {
    if (name == Name{tenant, slot_bytes}) continue;
    MutexLock pool_lock(&pool->mutex);
    for (const auto& [id, share] : pool->shares) {
      if (share.closed) continue;
      const double slots = std::max(1U, share.slots);
      found.push_back({id, (slots - share.free) / slots, name.first});
    }
  }
  std::sort(found.begin(), found.end(), [](const SlabUse& a, const SlabUse& b) {
    return std::tie(a.busy, a.id) < std::tie(b.busy, b.id);
  });
  return found;
}

std::vector<SlotPools::SlabUse> SlotPools::all_slabs() const {
  return slabs_of_others({}, Bytes{0});  // no pool has slots of no bytes
}

bool SlotPools::has_spare_slab(TenantId tenant, Bytes slot_bytes, Whose whose) const {
  MutexLock lock(&mutex_);
  for (const auto& [name, pool] : pools_) {
    if (name == Name{tenant, slot_bytes}) continue;
    if (whose == Whose::kOwn && name.first != tenant) continue;
    MutexLock pool_lock(&pool->mutex);
    std::size_t slab_slots = 0;
    for (const auto& [id, share] : pool->shares) {
      if (!share.closed) slab_slots = std::max<std::size_t>(slab_slots, share.slots);
    }
    if (slab_slots > 0 && pool->free.size() >= slab_slots) return true;
  }
  return false;
}

std::uint32_t SlotPools::free_count(TenantId tenant, Bytes slot_bytes) const {
  const Pool* pool = find({tenant, slot_bytes});
  if (pool == nullptr) return 0;
  MutexLock lock(&pool->mutex);
  return static_cast<std::uint32_t>(pool->free.size());
}

std::uint64_t SlotPools::total(TenantId tenant, Bytes slot_bytes) const {
  const Pool* pool = find({tenant, slot_bytes});
  if (pool == nullptr) return 0;
  MutexLock lock(&pool->mutex);
  std::uint64_t slots = 0;
  for (const auto& [id, share] : pool->shares)
    slots += share.slots;
  return slots;
}

std::vector<SlotPools::Usage> SlotPools::usage() const {
  std::vector<Usage> all;
  MutexLock lock(&mutex_);
  for (const auto& [name, pool] : pools_) {
    MutexLock pool_lock(&pool->mutex);
    Usage usage{.tenant = name.first, .slot_bytes = name.second};
    for (const auto& [id, share] : pool->shares) {
      usage.slots += share.slots;
      usage.free += share.free;
    }
    all.push_back(usage);
  }
  return all;
}

}  // namespace larder
