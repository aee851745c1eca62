#include "actors/slab_actor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace larder {

namespace {

constexpr int kSlabsTriedMax = 4;
constexpr auto kShardAnswerMax = std::chrono::seconds(5);

class SlabDesk {
 public:
  SlabDesk(caf::blocking_actor* self, SlabActorOptions options)
      : self_(self), options_(std::move(options)), store_(*options_.store) {}

  /// Answers `asker`, always.
  void provide(const PoolName& pool, ShardId asker, std::uint32_t count) {
    const bool found =
        settle(pool, count) && (store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0 ||
                                grow(pool) || evict_from_pool(pool, count) || reclaim(pool));
    self_->send(options_.shards()[asker.value()], RefilledAtom::value, pool, found);
  }

 private:
  /// Has the shards evict until `count` more slots (or what the capacity holds of them) fit. False:
  /// not even one does, all that is left is held.
  bool settle(const PoolName& pool, std::uint32_t count) {
    const Bytes capacity = store_.ledger.capacity();
    if (pool.slot_bytes > capacity) return false;
    const Bytes wanted = std::min(pool.slot_bytes * count, capacity);
    // Charged for a moment: what is over capacity is what the shards evict.
    store_.ledger.charge(wanted);
    Bytes before = store_.ledger.used();
    while (store_.ledger.over()) {
      for (const ShardHandle& shard : options_.shards()) {
        self_->request(shard, kShardAnswerMax, SettleAtom::value)
            .receive([](bool) {}, [](caf::error&) {});
      }
      if (store_.ledger.used() >= before) break;
      before = store_.ledger.used();
    }
    store_.ledger.refund(wanted);
    return store_.ledger.used() + pool.slot_bytes <= capacity;
  }

  bool grow(const PoolName& pool) {
    if (!store_.slabs.may_grow(pool.tenant, pool.slot_bytes)) return false;
    auto slab =
        store_.slabs.create(pool.tenant, options_.tenant_name(pool.tenant), pool.slot_bytes);
    if (!slab.ok()) {
      options_.log(fmt::format("slab_not_made slot_bytes={} error=\"{}\"", pool.slot_bytes.count,
                               std::string(slab.status().message())));
      return false;
    }
    store_.pools.add_slab(**slab);
    return true;
  }

  bool evict_from_pool(const PoolName& pool, std::uint32_t count) {
    std::uint32_t evicted = 0;
    for (const ShardHandle& shard : options_.shards()) {
      self_->request(shard, kShardAnswerMax, EvictPoolAtom::value, pool, count - evicted)
          .receive([&](std::uint32_t some) { evicted += some; }, [](caf::error&) {});
      if (evicted >= count) break;
    }
    return store_.pools.free_count(pool.tenant, pool.slot_bytes) > 0;
  }

  /// Empties whole slabs of other pools until a new slab fits.
  bool reclaim(const PoolName& pool) {
    for (int tried = 0; tried < kSlabsTriedMax;) {
      const std::vector<SlabId> candidates =
          store_.pools.reclaim_order(pool.tenant, pool.slot_bytes);
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

  bool empty_slab(SlabId id) {
    store_.pools.close_slab(id);
    for (const ShardHandle& shard : options_.shards()) {
      self_->request(shard, kShardAnswerMax, EvictSlabAtom::value, id)
          .receive([](bool) {}, [](caf::error&) {});
    }
    if (!store_.pools.remove_closed_slab(id)) {
      store_.pools.reopen_slab(id);
      return false;
    }
    options_.announce_retired(id);
    if (absl::Status retired = store_.slabs.retire(id); !retired.ok()) {
      options_.log(fmt::format("slab_not_retired slab={} error=\"{}\"", id.value(),
                               std::string(retired.message())));
    }
    return true;
  }

  caf::blocking_actor* self_;
  SlabActorOptions options_;
  NodeStore& store_;
};

}  // namespace

void slab_actor(caf::blocking_actor* self, SlabActorOptions options) {
  SlabDesk desk(self, std::move(options));
  bool running = true;
  self->receive_while(running)([&](NeedSlotsAtom, const PoolName& pool, ShardId asker,
                                   std::uint32_t count) { desk.provide(pool, asker, count); },
                               [&](caf::exit_msg&) { running = false; });
}

}  // namespace larder
