// Eviction, erasure and quarantine: how a block leaves.

#include <algorithm>

#include "absl/container/inlined_vector.h"

#include "store/assert.h"
#include "store/crash_point.h"
#include "store/shard.h"

namespace larder {

namespace {

constexpr double kNothing = Budget::kNothing;
constexpr double kUnknown = Budget::kUnknown;
/// Of a step's evictions, what a look at kVictimScanMax blocks in vain takes the time of.
constexpr std::uint32_t kLookSteps = 512;
/// Slot of a quarantined block: it is not given back.
constexpr std::uint64_t kSlotWithheld = ~0ULL;

}  // namespace

template <class Fn>
bool Shard::all_of_unit(EntryId first, Fn&& fn) const {
  EntryId id = first;
  do {
    if (!fn(id)) return false;
    id = EntryId(index_.entry(id).unit_next);
  } while (id != first);
  return true;
}

bool Shard::evictable(PolicyId unit) const {
  looks_ += 1;
  return all_of_unit(EntryId(unit.value()), [this](EntryId id) {
    const EntryWord word = EntryWord::unpack(index_.entry(id).word.load(std::memory_order_relaxed));
    return word.state == EntryState::kCommitted && word.leases == 0;
  });
}

std::optional<Victim> Shard::best_victim(Time now, Skip skip) {
  std::optional<Victim> best;
  for (auto& [id, tenant] : tenants_) {
    const std::optional<Victim> victim = tenant.policy->victim(now, skip);
    if (victim && (!best || victim->value < best->value)) best = victim;
  }
  return best;
}

bool Shard::has_more(const EvictionPolicy* only) const {
  if (only != nullptr) return only->has_more();
  return std::any_of(tenants_.begin(), tenants_.end(),
                     [](const auto& item) { return item.second.policy->has_more(); });
}

void Shard::publish_cheapest(Time now) {
  double cheapest = kNothing;
  for (auto& [id, tenant] : tenants_) {
    const auto victim =
        tenant.policy->victim(now, [this](PolicyId unit) { return !evictable(unit); });
    const double none = tenant.policy->has_more() ? kUnknown : kNothing;
    const double value = victim ? victim->value : none;
    tenant.budget->publish(id_, value);
    cheapest = std::min(cheapest, value);
  }
  store_.budget.publish(id_, cheapest);
}

/// Takes at most `steps` steps, and counts them off. Who has a cheaper victim is added to
/// `cheaper`.
Shard::Room Shard::make_room(const Scope& scope, Time now, std::uint32_t& steps,
                             ShardSet& cheaper) {
  const auto skip = [this](PolicyId unit) { return !evictable(unit); };
  const Ledger& ledger = scope.budget.ledger;
  for (; steps > 0; --steps) {
    if (!ledger.over()) return Room::kHere;
    const auto best =
        scope.only != nullptr ? scope.only->victim(now, skip) : best_victim(now, skip);
    const bool looks_on = !best && has_more(scope.only);
    const double value = best ? best->value : looks_on ? kUnknown : kNothing;
    // Others compare with what this shard has now, not with what it had a batch ago.
    scope.budget.publish(id_, value);
    const Budget::Cheapest elsewhere = scope.budget.cheapest_besides(id_);
    if (best && value <= elsewhere.value) {
      evict_unit(best->id);  // leased just now: the next look skips it
      continue;
    }
    if (looks_on && elsewhere.value >= kUnknown) {
      steps -= std::min(steps, kLookSteps) - 1;
      continue;
    }
    if (elsewhere.value < kNothing) {
      cheaper.set(elsewhere.shard.value());
      return Room::kElsewhere;
    }
    free_removed(kRemovedStep);
    break;
  }
  return ledger.over() ? Room::kNowhere : Room::kHere;
}

ShardSet Shard::evict_over(Time now) {
  ShardSet cheaper;
  std::uint32_t steps = kEvictionsStep;
  for (auto& [id, tenant] : tenants_)
    make_room({*tenant.budget, tenant.policy.get()}, now, steps, cheaper);
  make_room({store_.budget, nullptr}, now, steps, cheaper);
  index_.maintain();
  publish_cheapest(now);
  return cheaper;
}

bool Shard::evict_unit(PolicyId unit) {
  absl::InlinedVector<std::pair<EntryId, std::uint64_t>, 8> taken;
  const EntryId leader(unit.value());
  const bool whole = all_of_unit(leader, [&](EntryId id) {
    Entry& entry = index_.mutable_entry(id);
    std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    EntryWord now = EntryWord::unpack(word);
    if (now.state != EntryState::kCommitted || now.leases != 0) return false;
    now.state = EntryState::kFree;
    // Acquire: the last reader's loads are done before the slot is anyone else's.
    if (!entry.word.compare_exchange_strong(word, now.pack(), std::memory_order_acq_rel)) {
      return false;
    }
    taken.emplace_back(id, word);
    return true;
  });
  if (!whole) {
    for (const auto& [id, word] : taken) {
      index_.mutable_entry(id).word.store(word, std::memory_order_release);
    }
    return false;
  }
  // The leader last: so the unit has one name until it is gone.
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) {
    const EntryId id = it->first;
    untrack(id, EraseCause::kEvicted);
    if (id == leader) {
      free_slot(id);
      keep_ghost(id);
    } else {
      index_.unlink(id);
      free_block(id);
    }
  }
  counters_.evictions += taken.size();
  return true;
}

Budget& Shard::budget_of(const Entry& entry) const {
  return store_.tenants.of(TenantId(entry.tenant_tier >> 8));
}

void Shard::free_slot(EntryId id) {
  const Entry& entry = index_.entry(id);
  const std::uint64_t packed = entry.slot.load(std::memory_order_relaxed);
  if (packed == kSlotWithheld) return;
  const SlotRef slot = unpack_slot(packed);
  store_.slabs.clear(slot);
  crash_point("evict");
  store_.refund(budget_of(entry), store_.slabs.slot_bytes(slot));
  store_.pools.give(slot);
}

void Shard::free_block(EntryId id) {
  free_slot(id);
  index_.free_entry(id);
}

std::uint32_t Shard::evict_from_pool(TenantId tenant, Bytes slot_bytes, std::uint32_t count,
                                     Time now) {
  const auto it = tenants_.find(tenant);
  if (it == tenants_.end()) return 0;
  const auto elsewhere = [&](PolicyId unit) {
    return all_of_unit(EntryId(unit.value()), [&](EntryId id) {
      const std::uint64_t slot = index_.entry(id).slot.load(std::memory_order_relaxed);
      return store_.slabs.slot_bytes(unpack_slot(slot)) != slot_bytes;
    });
  };
  std::uint32_t evicted = 0;
  for (std::uint32_t step = 0; evicted < count && step < kEvictionsStep; ++step) {
    const auto victim = it->second.policy->victim(
        now, [&](PolicyId unit) { return elsewhere(unit) || !evictable(unit); });
    if (!victim && it->second.policy->has_more()) {
      step += kLookSteps - 1;
      continue;
    }
    if (!victim) break;
    const std::uint64_t before = counters_.evictions;
    evict_unit(victim->id);
    evicted += static_cast<std::uint32_t>(counters_.evictions - before);
  }
  counters_.evictions_for_slot += evicted;
  return evicted;
}

std::optional<SlabVictim> Shard::cheapest_slab(TenantId tenant, Bytes slot_bytes, Time now) {
  const auto slot_of = [this](PolicyId unit) {
    return unpack_slot(index_.entry(EntryId(unit.value())).slot.load(std::memory_order_relaxed));
  };
  const auto in_pool = [&](PolicyId unit) {
    const Entry& entry = index_.entry(EntryId(unit.value()));
    return TenantId(entry.tenant_tier >> 8) == tenant &&
           store_.slabs.slot_bytes(slot_of(unit)) == slot_bytes;
  };
  const auto best =
      best_victim(now, [&](PolicyId unit) { return !evictable(unit) || in_pool(unit); });
  if (!best) return std::nullopt;
  return SlabVictim{slot_of(best->id).slab, best->value};
}

bool Shard::evict_slab(SlabId slab_id, std::uint32_t* cursor, std::uint32_t limit) {
  const Slab* slab = store_.slabs.find(slab_id);
  if (slab == nullptr) return true;
  const std::uint64_t before = counters_.evictions;
  for (std::uint32_t looked = 0; *cursor < slab->slots() && looked < limit; ++looked) {
    const SlotRef slot{slab_id, (*cursor)++};
    SlotHeader& header = *slab->header(slot.slot);
    if (header.committed.load(std::memory_order_acquire) != 1) continue;
    const EntryId id = index_.find(peek_key(header));
    if (id == kNoEntry) continue;  // another shard's
    const Entry& entry = index_.entry(id);
    if (word_of(entry).state != EntryState::kCommitted ||
        entry.slot.load(std::memory_order_relaxed) != pack_slot(slot)) {
      continue;
    }
    const PolicyId unit(entry.unit);
    if (evictable(unit)) evict_unit(unit);
  }
  counters_.evictions_for_slab += counters_.evictions - before;
  free_removed(kRemovedStep);
  index_.maintain();
  return *cursor >= slab->slots();
}

bool Shard::hide(EntryId id, EraseCause cause, SlotRef* slot) {
  Entry& entry = index_.mutable_entry(id);
  std::uint64_t word = entry.word.load(std::memory_order_relaxed);
  EntryWord removed;
  do {
    removed = EntryWord::unpack(word);
    if (removed.state != EntryState::kCommitted) return false;
    removed.state = EntryState::kRemoved;
  } while (!entry.word.compare_exchange_weak(word, removed.pack(), std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  *slot = unpack_slot(entry.slot.load(std::memory_order_relaxed));
  untrack(id, cause);
  index_.unlink(id);
  store_.slabs.clear(*slot);
  return true;
}

bool Shard::erase(const BlockKey& key, EraseCause cause) {
  const EntryId id = index_.find(key);
  SlotRef slot;
  if (id == kNoEntry || !hide(id, cause, &slot)) return false;
  (cause == EraseCause::kExpired ? counters_.expirations : counters_.removals) += 1;
  removed_.push_back(id);
  free_removed(1);
  return true;
}

void Shard::quarantine(const BlockKey& key) {
  const EntryId id = index_.find(key);
  SlotRef slot;
  if (id == kNoEntry || !hide(id, EraseCause::kQuarantined, &slot)) return;
  counters_.quarantined += 1;
  Entry& entry = index_.mutable_entry(id);
  store_.refund(budget_of(entry), store_.slabs.slot_bytes(slot));
  store_.pools.forget(slot);
  entry.slot.store(kSlotWithheld, std::memory_order_relaxed);
  removed_.push_back(id);
}

}  // namespace larder
