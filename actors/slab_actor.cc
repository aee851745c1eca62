#include "actors/slab_actor.h"

#include <chrono>
#include <utility>
#include <vector>

#include "actors/slab_desk.h"

namespace larder {

namespace {

constexpr auto kUpkeepPeriod = std::chrono::seconds(5);

/// Asks and waits, without a timeout: CAF would leave the message of each in the mailbox, to be
/// looked through by every later receive. A shard that died answers with an error, which counts as
/// nothing; one that lives answers, for its steps are bounded.
class AskedShards final : public ShardSteps {
 public:
  AskedShards(caf::blocking_actor* self, const SlabActorOptions& options)
      : self_(self), options_(options) {}

  std::uint32_t shards() const override { return options_.store->shards(); }

  void settle() override {
    const auto ask_one = [this](const ShardHandle& shard) {
      return self_->request(shard, caf::infinite, SettleAtom::value);
    };
    std::vector<decltype(ask_one(ShardHandle()))> asked;
    for (const ShardHandle& shard : options_.shards())
      asked.push_back(ask_one(shard));
    for (auto& answer : asked)
      answer.receive([](bool) {}, [](caf::error&) {});
  }

  std::uint32_t evict_from_pool(ShardId shard, const PoolName& pool, std::uint32_t count) override {
    return ask<std::uint32_t>(shard, 0, EvictPoolAtom::value, pool, count);
  }
  std::optional<SlabVictim> cheapest_slab(ShardId shard, const PoolName& pool) override {
    return ask<std::optional<SlabVictim>>(shard, {}, CheapestSlabAtom::value, pool);
  }
  void evict_slab(ShardId shard, SlabId slab) override {
    std::uint32_t cursor = 0;
    while (cursor != kSlabDone)
      cursor = ask<std::uint32_t>(shard, kSlabDone, EvictSlabAtom::value, slab, cursor);
  }

 private:
  template <class Answer, class... Args>
  Answer ask(ShardId shard, Answer otherwise, Args... args) {
    Answer answer = std::move(otherwise);
    self_->request(options_.shards()[shard.value()], caf::infinite, args...)
        .receive([&answer](const Answer& got) { answer = got; }, [](caf::error&) {});
    return answer;
  }

  caf::blocking_actor* self_;
  const SlabActorOptions& options_;
};

}  // namespace

void slab_actor(caf::blocking_actor* self, SlabActorOptions options) {
  AskedShards shards(self, options);
  SlabDesk desk(*options.store, shards,
                {options.tenant_name, options.announce_retired, options.log});
  bool running = true;
  self->receive_while(running)(
      [&](NeedSlotsAtom, const PoolName& pool, ShardId asker, std::uint32_t count) {
        const bool found = desk.provide(pool, count, options.now());
        self->send(options.shards()[asker.value()], RefilledAtom::value, pool, found);
      },
      [&](caf::exit_msg&) { running = false; },
      caf::after(kUpkeepPeriod) >> [&] { desk.release_retired(options.now()); });
}

}  // namespace larder
