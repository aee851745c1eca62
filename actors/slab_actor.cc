#include "actors/slab_actor.h"

#include <chrono>
#include <utility>

#include "actors/slab_desk.h"

namespace larder {

namespace {

constexpr auto kShardAnswerMax = std::chrono::seconds(5);

SlabDesk::Hooks hooks_of(caf::blocking_actor* self, const SlabActorOptions& options) {
  const auto shards = options.shards;
  SlabDesk::Hooks hooks;
  hooks.settle = [self, shards] {
    for (const ShardHandle& shard : shards()) {
      self->request(shard, kShardAnswerMax, SettleAtom::value)
          .receive([](bool) {}, [](caf::error&) {});
    }
  };
  hooks.evict_pool = [self, shards](ShardId shard, const PoolName& pool, std::uint32_t count) {
    std::uint32_t evicted = 0;
    self->request(shards()[shard.value()], kShardAnswerMax, EvictPoolAtom::value, pool, count)
        .receive([&](std::uint32_t some) { evicted = some; }, [](caf::error&) {});
    return evicted;
  };
  hooks.evict_slab = [self, shards](SlabId slab) {
    for (const ShardHandle& shard : shards()) {
      self->request(shard, kShardAnswerMax, EvictSlabAtom::value, slab)
          .receive([](bool) {}, [](caf::error&) {});
    }
  };
  hooks.tenant_name = options.tenant_name;
  hooks.announce_retired = options.announce_retired;
  hooks.log = options.log;
  return hooks;
}

}  // namespace

void slab_actor(caf::blocking_actor* self, SlabActorOptions options) {
  SlabDesk desk(*options.store, hooks_of(self, options));
  bool running = true;
  self->receive_while(running)(
      [&](NeedSlotsAtom, const PoolName& pool, ShardId asker, std::uint32_t count) {
        const bool found = desk.provide(pool, count);
        self->send(options.shards()[asker.value()], RefilledAtom::value, pool, found);
      },
      [&](caf::exit_msg&) { running = false; });
}

}  // namespace larder
