#include "actors/slab_actor.h"

#include <chrono>
#include <utility>
#include <vector>

#include "actors/slab_desk.h"

namespace larder {

namespace {

/// Memory can be gone within a second.
constexpr auto kUpkeepPeriod = std::chrono::milliseconds(250);

/// Asks a shard and waits, without a timeout: CAF would leave the message of each in the mailbox,
/// to be looked through by every later receive. A shard that died answers with an error, which
/// counts as `otherwise`; one that lives answers, for its steps are bounded.
template <class Answer, class... Args>
Answer ask(caf::blocking_actor* self, const ShardHandle& shard, Answer otherwise, Args... args) {
  Answer answer = std::move(otherwise);
  self->request(shard, caf::infinite, args...)
      .receive([&answer](const Answer& got) { answer = got; }, [](caf::error&) {});
  return answer;
}

/// All shards at the same time.
void settle(caf::blocking_actor* self, const std::vector<ShardHandle>& shards) {
  const auto ask_one = [self](const ShardHandle& shard) {
    return self->request(shard, caf::infinite, SettleAtom::value);
  };
  std::vector<decltype(ask_one(ShardHandle()))> asked;
  for (const ShardHandle& shard : shards)
    asked.push_back(ask_one(shard));
  for (auto& answer : asked)
    answer.receive([](bool) {}, [](caf::error&) {});
}

SlabDesk::Hooks hooks_of(caf::blocking_actor* self, const SlabActorOptions& options,
                         CapacityKeeper& keeper) {
  const auto shards = options.shards;
  SlabDesk::Hooks hooks;
  hooks.settle = [self, shards] { settle(self, shards()); };
  hooks.evict_pool = [self, shards](ShardId shard, const PoolName& pool, std::uint32_t count) {
    return ask<std::uint32_t>(self, shards()[shard.value()], 0, EvictPoolAtom::value, pool, count);
  };
  hooks.cheapest_slabs = [self, shards](const PoolName& pool) {
    std::vector<SlabVictim> victims;
    for (const ShardHandle& shard : shards()) {
      const auto victim =
          ask<std::optional<SlabVictim>>(self, shard, {}, CheapestSlabAtom::value, pool);
      if (victim) victims.push_back(*victim);
    }
    return victims;
  };
  hooks.evict_slab = [self, shards](SlabId slab) {
    for (const ShardHandle& shard : shards()) {
      std::uint32_t cursor = 0;
      while (cursor != kSlabDone)
        cursor = ask<std::uint32_t>(self, shard, kSlabDone, EvictSlabAtom::value, slab, cursor);
    }
  };
  hooks.tenant_name = options.tenant_name;
  hooks.announce_retired = options.announce_retired;
  hooks.log = options.log;
  hooks.may_take = [&keeper](Bytes bytes, Time now) { return keeper.may_take(bytes, now); };
  return hooks;
}

}  // namespace

void slab_actor(caf::blocking_actor* self, SlabActorOptions options) {
  CapacityKeeper keeper(
      *options.store, *options.metrics,
      {.wanted = options.wanted_capacity, .probe = options.probe, .log = options.log});
  SlabDesk desk(*options.store, hooks_of(self, options, keeper));
  keeper.look(options.now());
  bool running = true;
  self->receive_while(running)(
      [&](NeedSlotsAtom, const PoolName& pool, ShardId asker, std::uint32_t count) {
        keeper.look(options.now());
        const bool found = desk.provide(pool, count, options.now());
        self->send(options.shards()[asker.value()], RefilledAtom::value, pool, found);
      },
      [](const OldPoliciesPtr&) {},  // freed here, where steps may be long
      [&](caf::exit_msg&) { running = false; },
      caf::after(kUpkeepPeriod) >>
          [&] {
            keeper.look(options.now());
            desk.upkeep(options.now());
          });
}

}  // namespace larder
