#include "actors/shard_actor.h"

#include <deque>
#include <utility>

#include "actors/shard_work.h"

namespace larder {

namespace {

constexpr std::uint32_t kSlabStep = 1'024;   ///< slots of a slab looked at in one message
constexpr std::uint32_t kRebuildStep = 256;  ///< entries that one message looks at, or tracks
constexpr int kIdleTicks = 4;                ///< a shard with nothing to do ticks so much slower

std::unique_ptr<ShardDesk> make_desk(const ShardActorOptions& options) {
  auto shard = std::make_unique<Shard>(options.id, *options.store, options.make_policy);
  if (options.adopt) {
    for (const AdoptItem& item : *options.adopt)
      shard->adopt(item.slot, item.tenant);
  }
  ShardDesk::Hooks hooks;
  hooks.need_slots = [slabs = options.slabs, shard = options.id](const PoolName& pool,
                                                                 std::uint32_t count) {
    caf::anon_send(slabs, NeedSlotsAtom::value, pool, shard, count);
  };
  hooks.poke = options.poke;
  return std::make_unique<ShardDesk>(std::move(shard), std::move(hooks));
}

/// The actor's desk, which it shares with io threads through the gate. While a shard is made anew
/// in steps, what is sent to it waits here.
class Place {
 public:
  explicit Place(const ShardActorOptions& options)
      : gate_(options.gate ? options.gate : std::make_shared<ShardGate>()),
        desk_(make_desk(options)),
        ready_(!options.rebuild) {
    if (ready_) gate_->open(desk_.get());
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { gate_->close(); }

  bool ready() const { return ready_; }
  ShardGate& gate() { return *gate_; }

  /// What `work` gives at the desk. Who asks waits, and would believe that nothing stands here: a
  /// shard that is not ready is made so at once.
  template <class Work>
  auto ask(const Work& work) {
    while (make_ready()) {
    }
    decltype(work(*desk_)) answer{};
    gate_->at_desk([&] { answer = work(*desk_); });
    return answer;
  }
  template <class Work>
  void tell(Work work) {
    if (!ready_) return waiting_.push_back(std::move(work));
    gate_->at_desk([&] { work(*desk_); });
  }
  /// Other policies decide once it is ready() again. Returns the old ones.
  OldPoliciesPtr change_policy(const PolicyChange& change) {
    while (make_ready()) {
    }
    gate_->close();
    ready_ = rebuilt_ = false;
    return std::make_shared<const std::vector<std::unique_ptr<EvictionPolicy>>>(
        desk_->shard().change_policy(change));
  }
  /// A step towards ready(): of the shard, then a message that came meanwhile. True: there is more.
  bool make_ready() {
    if (ready_) return false;
    if (!rebuilt_) {
      rebuilt_ = !desk_->shard().rebuild_some(kRebuildStep);
      return true;
    }
    if (!waiting_.empty()) {
      const auto work = std::move(waiting_.front());
      waiting_.pop_front();
      work(*desk_);
      return true;
    }
    ready_ = true;
    gate_->open(desk_.get());
    return false;
  }

 private:
  std::shared_ptr<ShardGate> gate_;
  std::unique_ptr<ShardDesk> desk_;
  bool ready_;
  bool rebuilt_ = false;
  std::deque<std::function<void(ShardDesk&)>> waiting_;
};

/// A message of an io thread, counted by the gate from there to its end here.
template <class Message>
auto receiver(std::shared_ptr<Place> place, std::function<Time()> now) {
  return [place, now](const Message& message) {
    place->tell([gate = &place->gate(), now, message](ShardDesk& desk) {
      carry_out(desk, message, now());
      gate->handled();
    });
  };
}

}  // namespace

ShardHandle::behavior_type shard_actor(ShardHandle::pointer self, ShardActorOptions options) {
  auto place = std::make_shared<Place>(options);
  auto now = options.now;
  auto wall_ns = options.wall_ns;
  const Duration tick = options.tick;
  ShardCounters* counters = options.counters;
  self->delayed_send(self, tick, TickAtom::value);
  if (!place->ready()) self->send(self, RebuildAtom::value);
  return {
      receiver<ReserveCallPtr>(place, now),
      receiver<ClaimCallPtr>(place, now),
      receiver<EraseCallPtr>(place, now),
      receiver<ScanCallPtr>(place, now),
      receiver<RequestNotePtr>(place, now),
      receiver<RequestEndNotePtr>(place, now),
      receiver<TouchNotePtr>(place, now),
      receiver<AbortNotePtr>(place, now),
      [self, place](const DropClaimsNotePtr& note) {
        place->tell([self, gate = &place->gate(), note](ShardDesk& desk) {
          if (drop_claims(desk, *note)) return gate->handled();
          self->send(self, note);  // still counted
        });
      },
      receiver<QuarantineNotePtr>(place, now),
      [self, place, now, wall_ns, tick, counters](TickAtom) {
        bool busy = true;
        if (place->ready()) {
          busy = place->ask([&](ShardDesk& desk) {
            const bool more = desk.tick(now(), wall_ns());
            counters->publish(desk.shard().counters(), desk.parked(), now());
            return more;
          });
        } else {
          counters->seen_at(now());
        }
        self->delayed_send(self, busy ? tick : kIdleTicks * tick, TickAtom::value);
      },
      [self, place](RebuildAtom) {
        if (place->make_ready()) self->send(self, RebuildAtom::value);
      },
      [self, place, slabs = options.slabs](const PolicyChangePtr& change) {
        const bool making_ready = !place->ready();
        caf::anon_send(slabs, place->change_policy(*change));
        if (!making_ready) self->send(self, RebuildAtom::value);
      },
      [place, now](EvictOverAtom) {
        place->tell([now](ShardDesk& desk) { desk.evict_over(now()); });
      },
      [place, now](SettleAtom) {
        return place->ask([now](ShardDesk& desk) {
          desk.evict_over(now());
          return true;
        });
      },
      [place, now](RefilledAtom, const PoolName& pool, bool success) {
        place->tell([=](ShardDesk& desk) { desk.refilled(pool, success, now()); });
      },
      [place, now](EvictPoolAtom, const PoolName& pool, std::uint32_t count) {
        return place->ask([&](ShardDesk& desk) {
          return desk.shard().evict_from_pool(pool.tenant, pool.slot_bytes, count, now());
        });
      },
      [place, now](CheapestSlabAtom, const PoolName& pool) {
        return place->ask([&](ShardDesk& desk) {
          return desk.shard().cheapest_slab(pool.tenant, pool.slot_bytes, now());
        });
      },
      [place](EvictSlabAtom, SlabId slab, std::uint32_t cursor) {
        return place->ask([&](ShardDesk& desk) {
          return desk.shard().evict_slab(slab, &cursor, kSlabStep) ? kSlabDone : cursor;
        });
      },
  };
}

}  // namespace larder
