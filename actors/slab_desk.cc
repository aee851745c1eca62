#include "actors/slab_desk.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace larder {

namespace {

constexpr int kSlabsTriedMax = 4;
/// Slabs emptied in one call when the capacity was lowered: who waits for slots comes in between.
constexpr int kShrinkStep = 8;
/// Slabs without a block may take capacity / this beyond it: sizes come and go.
constexpr std::uint64_t kIdleShare = 8;
constexpr Duration kIdleLookEvery = std::chrono::seconds(5);
/// When slabs stand beyond the capacity and all are held: the next try.
constexpr Duration kShrinkPause = std::chrono::seconds(1);
/// Passes over the shards in which nothing left and nothing could: all is held.
constexpr int kIdlePassesMax = 3;
constexpr int kPassesMax = 1'000;
/// After a slab could not be made for want of something that no slab gives back.
constexpr Duration kMakeAgain = std::chrono::seconds(30);
/// A full file system refuses a slab for every call that needs one: the log hears of it now and
/// then.
constexpr Duration kNotMadeLogEvery = std::chrono::seconds(1);

}  // namespace

SlabDesk::SlabDesk(NodeStore& store, Hooks hooks)
    : store_(store), hooks_(std::move(hooks)), capacity_(store.budget.ledger.capacity()) {}

void SlabDesk::upkeep(Time now) {
  release_retired(now);
  shrink(now);
  release_idle(now);
}

/// Sizes that nobody puts any more keep a slab each: while they stand beyond capacity, those
/// without a block go.
void SlabDesk::release_idle(Time now) {
  const Bytes capacity = store_.budget.ledger.capacity();
  const Bytes most = capacity + Bytes{capacity.count / kIdleShare};
  if (store_.slabs.total_bytes() <= most || now - idle_looked_ < kIdleLookEvery) return;
  idle_looked_ = now;
  for (const auto& use : store_.pools.all_slabs()) {
    if (use.busy > 0 || store_.slabs.total_bytes() <= most) break;
    empty_slab(use.id, now);
  }
}

void SlabDesk::shrink(Time now) {
  const Bytes capacity = store_.budget.ledger.capacity();
  shrinking_ =
      shrinking_ || capacity < capacity_ || store_.slabs.total_bytes() > store_.slabs.max();
  capacity_ = capacity;
  if (!shrinking_ || now < shrink_again_) return;
  hooks_.settle();  // by value first: what leaves with a slab leaves by place
  int emptied = 0;
  for (const auto& use : store_.pools.all_slabs()) {
    if (store_.slabs.excess().count == 0) break;
    if (emptied == kShrinkStep) return;
    if (empty_slab(use.id, now)) emptied += 1;
  }
  // What is leased stays, and is looked at again.
  shrinking_ = store_.slabs.excess().count > 0;
  if (shrinking_) shrink_again_ = now + kShrinkPause;
}

bool SlabDesk::provide(const PoolName& pool, std::uint32_t count, Time now) {
  upkeep(now);
  // Memory that can be had costs no block, so it comes first.
  grow_to(pool, count, now);
  if (!settle(pool, count)) return false;
  if (store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0) return true;
  // What other sizes leave unused goes before this size's own blocks: else it never had more slabs
  // than it began with, however much of the capacity is free.
  if (store_.has_spare_slab(pool.tenant, pool.slot_bytes) && reclaim(pool, now)) return true;
  return evict_from_pool(pool, count) || reclaim(pool, now);
}

void SlabDesk::grow_to(const PoolName& pool, std::uint32_t count, Time now) {
  while (store_.pools.free_count(pool.tenant, pool.slot_bytes) < count && grow(pool, now)) {
  }
}

bool SlabDesk::grow(const PoolName& pool, Time now, const GivenUp& given_up) {
  if (!store_.slabs.may_grow(pool.tenant, pool.slot_bytes, given_up.of_tenant)) return false;
  // What was given back may be taken again, also when memory is short.
  const Bytes bytes = store_.slabs.slab_bytes(pool.tenant, pool.slot_bytes);
  const Bytes more = bytes - std::min(bytes, given_up.all);
  if (more.count > 0 && hooks_.may_take && !hooks_.may_take(more, now)) return false;
  auto slab = store_.slabs.create(pool.tenant, hooks_.tenant_name(pool.tenant), pool.slot_bytes);
  if (!slab.ok()) {
    log_not_made(pool, slab.status(), now);
    // Slabs that leave give their memory back, not their addresses: not at once.
    const auto free = store_.slabs.free_space();
    if (free.ok() && *free >= bytes) cannot_make_ = now;
    return false;
  }
  cannot_make_.reset();
  store_.pools.add_slab(**slab);
  return true;
}

void SlabDesk::log_not_made(const PoolName& pool, const absl::Status& why, Time now) {
  if (not_made_logged_ && now - *not_made_logged_ < kNotMadeLogEvery) {
    not_made_unlogged_ += 1;
    return;
  }
  hooks_.log(fmt::format("slab_not_made slot_bytes={} unlogged={} error=\"{}\"",
                         pool.slot_bytes.count, std::exchange(not_made_unlogged_, 0),
                         std::string(why.message())));
  not_made_logged_ = now;
}

/// Has the shards evict until `count` more slots (or what capacity and quota hold of them) fit.
/// False: not even one does, all that is left is held. The quota first, and alone: what cannot be
/// had of it costs nobody else a block.
bool SlabDesk::settle(const PoolName& pool, std::uint32_t count) {
  Budget& tenant = store_.tenants.of(pool.tenant);
  const Bytes quota = tenant.ledger.capacity();
  const Bytes most = std::min(store_.budget.ledger.capacity(), quota);
  if (pool.slot_bytes > most) return false;
  const Bytes wanted = std::min(pool.slot_bytes * count, most);
  if (!make_room(tenant, wanted, pool.slot_bytes)) return false;
  const Bytes left = quota - std::min(quota, tenant.ledger.used());
  return make_room(store_.budget, std::min(wanted, left), pool.slot_bytes);
}

/// Has the shards evict until `wanted` more bytes fit the budget; true when `least` do.
bool SlabDesk::make_room(Budget& budget, Bytes wanted, Bytes least) {
  // What is over capacity with it is what the shards evict.
  budget.ledger.want(wanted);
  int idle = 0;
  for (int pass = 0; budget.ledger.over() && pass < kPassesMax && idle < kIdlePassesMax; ++pass) {
    hooks_.settle();
    // Used bytes say nothing of progress: other reservations charge meanwhile.
    if (budget.has_victim()) {
      idle = 0;
    } else if (!budget.looks_on()) {
      idle += 1;
    }
  }
  budget.ledger.unwant(wanted);
  return budget.ledger.used() + least <= budget.ledger.capacity();
}

bool SlabDesk::evict_from_pool(const PoolName& pool, std::uint32_t count) {
  std::uint32_t evicted = 0;
  for (std::uint32_t shard = 0; shard < store_.shards() && evicted < count; ++shard)
    evicted += hooks_.evict_pool(ShardId(shard), pool, count - evicted);
  return store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0;
}

/// Whether the file system would hold a slab for the pool if those of all others left it. When
/// something else has filled it, emptying them one by one would cost blocks for nothing.
bool SlabDesk::has_place(const PoolName& pool) {
  const auto free = store_.slabs.free_space();
  if (!free.ok()) return true;
  Bytes room = *free;
  for (const auto& use : store_.pools.slabs_of_others(pool.tenant, pool.slot_bytes))
    room = room + store_.slabs.find(use.id)->bytes();
  return store_.slabs.slab_bytes(pool.tenant, pool.slot_bytes) <= room;
}

/// Empties whole slabs of other pools until a new slab fits.
bool SlabDesk::reclaim(const PoolName& pool, Time now) {
  if (!has_place(pool)) return false;
  if (cannot_make_ && now - *cannot_make_ < kMakeAgain) return false;
  GivenUp given_up;
  for (int tried = 0; tried < kSlabsTriedMax;) {
    bool progress = false;
    for (const SlotPools::SlabUse& use : reclaim_order(pool)) {
      if (tried == kSlabsTriedMax) return false;
      tried += 1;
      const Bytes bytes = store_.slabs.find(use.id)->bytes();
      if (!empty_slab(use.id, now)) continue;
      progress = true;
      given_up.all = given_up.all + bytes;
      if (use.tenant == pool.tenant) given_up.of_tenant = given_up.of_tenant + bytes;
      if (grow(pool, now, given_up)) return true;
      if (cannot_make_ == now) return false;
      tried = 0;  // a large slot takes several slabs
      break;
    }
    if (!progress) return false;
  }
  return false;
}

/// The least valuable first: slabs that are mostly free, then those in which the node's cheapest
/// victims stand, then the emptier ones. Of a tenant that has its quota in slabs, its own.
std::vector<SlotPools::SlabUse> SlabDesk::reclaim_order(const PoolName& pool) {
  std::vector<SlabVictim> victims = hooks_.cheapest_slabs(pool);
  std::sort(victims.begin(), victims.end(),
            [](const SlabVictim& a, const SlabVictim& b) { return a.value < b.value; });
  std::vector<SlotPools::SlabUse> slabs =
      store_.pools.slabs_of_others(pool.tenant, pool.slot_bytes);
  if (!store_.slabs.below_quota(pool.tenant)) {
    std::erase_if(slabs, [&pool](const auto& use) { return use.tenant != pool.tenant; });
  }
  const auto rank = [&victims](const SlotPools::SlabUse& use) {
    constexpr double kMostlyFree = 0.25;
    if (use.busy <= kMostlyFree) return std::pair<std::size_t, double>(0, use.busy);
    const auto at = std::find_if(victims.begin(), victims.end(),
                                 [&use](const SlabVictim& v) { return v.slab == use.id; });
    return std::pair<std::size_t, double>(1 + (at - victims.begin()), use.busy);
  };
  std::stable_sort(slabs.begin(), slabs.end(),
                   [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return slabs;
}

bool SlabDesk::empty_slab(SlabId id, Time now) {
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
  retired_.push_back({id, store_.domain.advance(), now});
  return true;
}

void SlabDesk::release_retired(Time now) {
  while (!retired_.empty() && now - retired_.front().at >= kLinger &&
         store_.domain.passed(retired_.front().epoch)) {
    store_.slabs.release_retired(retired_.front().id);
    retired_.pop_front();
  }
}

}  // namespace larder
