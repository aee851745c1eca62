#include "actors/shard_actor.h"

#include <utility>

namespace larder {

namespace {

constexpr std::uint32_t kClaimsStep = 1'024;
constexpr std::uint32_t kSlabStep = 1'024;  ///< slots of a slab looked at in one message

std::shared_ptr<ShardDesk> make_desk(const ShardActorOptions& options) {
  auto shard = std::make_unique<Shard>(options.id, *options.store, options.make_policy);
  if (options.rebuild) {
    shard->rebuild();
  } else if (options.adopt) {
    for (const AdoptItem& item : *options.adopt)
      shard->adopt(item.slot, item.tenant);
  }
  ShardDesk::Hooks hooks;
  hooks.need_slots = [slabs = options.slabs, shard = options.id](const PoolName& pool,
                                                                 std::uint32_t count) {
    caf::anon_send(slabs, NeedSlotsAtom::value, pool, shard, count);
  };
  hooks.poke = options.poke;
  return std::make_shared<ShardDesk>(std::move(shard), std::move(hooks));
}

}  // namespace

ShardHandle::behavior_type shard_actor(ShardHandle::pointer self, ShardActorOptions options) {
  auto desk = make_desk(options);
  auto now = options.now;
  auto wall_ns = options.wall_ns;
  const Duration tick = options.tick;
  ShardCounters* counters = options.counters;
  self->delayed_send(self, tick, TickAtom::value);
  return {
      [desk, now](const ReserveCallPtr& call) { desk->reserve(call, now()); },
      [desk](const ClaimCallPtr& call) {
        run_claims(desk->shard(), *call);
        call->answer();
      },
      [desk](const EraseCallPtr& call) {
        run_erases(desk->shard(), *call);
        call->answer();
      },
      [desk](const ScanCallPtr& call) {
        run_scan(desk->shard(), *call);
        call->answer();
      },
      [desk](const RequestNotePtr& note) { desk->shard().on_request(note->context); },
      [desk, now](const RequestEndNotePtr& note) {
        desk->shard().on_request_end(note->request, note->output_tokens, note->touches);
        desk->evict_over(now());
      },
      [desk, now](const TouchNotePtr& note) {
        desk->shard().touch(note->touches, note->request);
        desk->evict_over(now());
      },
      [desk](const AbortNotePtr& note) { run_aborts(desk->shard(), *note); },
      [self, desk](const DropClaimsNotePtr& note) {
        if (!desk->shard().drop_claims(note->session, kClaimsStep)) self->send(self, note);
      },
      [desk](const QuarantineNotePtr& note) { desk->shard().quarantine(note->key); },
      [self, desk, now, wall_ns, tick, counters](TickAtom) {
        desk->tick(now(), wall_ns());
        counters->publish(desk->shard().counters(), desk->parked(), now());
        self->delayed_send(self, tick, TickAtom::value);
      },
      [desk, now](EvictOverAtom) { desk->evict_over(now()); },
      [desk, now](SettleAtom) {
        desk->evict_over(now());
        return true;
      },
      [desk, now](RefilledAtom, const PoolName& pool, bool success) {
        desk->refilled(pool, success, now());
      },
      [desk, now](EvictPoolAtom, const PoolName& pool, std::uint32_t count) {
        return desk->shard().evict_from_pool(pool.tenant, pool.slot_bytes, count, now());
      },
      [desk, now](CheapestSlabAtom, const PoolName& pool) {
        return desk->shard().cheapest_slab(pool.tenant, pool.slot_bytes, now());
      },
      [desk](EvictSlabAtom, SlabId slab, std::uint32_t cursor) {
        return desk->shard().evict_slab(slab, &cursor, kSlabStep) ? kSlabDone : cursor;
      },
  };
}

}  // namespace larder
