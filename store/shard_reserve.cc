// reserve, abort, claim: how an entry comes to be.

#include <algorithm>
#include <bit>

#include "store/assert.h"
#include "store/crash_point.h"
#include "store/shard.h"

namespace larder {

namespace {

/// Of some 0.3 us each.
constexpr std::uint32_t kQuickLooks = 256;
constexpr Duration kSlowFor = std::chrono::seconds(1);

Time claim_deadline(const Entry& entry) {
  const auto ns = static_cast<std::uint64_t>(entry.unit) << 32 | entry.unit_next;
  return Time(Duration(std::bit_cast<std::int64_t>(ns)));
}

void set_claim_deadline(Entry& entry, Time deadline) {
  const auto ns = std::bit_cast<std::uint64_t>(std::int64_t{deadline.time_since_epoch().count()});
  entry.unit = static_cast<std::uint32_t>(ns >> 32);
  entry.unit_next = static_cast<std::uint32_t>(ns);
}

}  // namespace

void Shard::reserve(std::span<ReserveItem> items, std::optional<RequestId> request, Time now) {
  const RequestContext* context = context_of(request);
  held_.clear();
  steps_ = kEvictionsStep;
  looks_ = 0;
  for (ReserveItem& item : items) {
    if (item.outcome == ReserveOutcome::kNoSlot) item.outcome = reserve_one(item, context, now);
  }
  index_.maintain();
  publish_cheapest(now);
  if (looks_ > kQuickLooks) slow_until_ = now + kSlowFor;
}

ReserveOutcome Shard::reserve_one(ReserveItem& item, const RequestContext* context, Time now) {
  const EntryId found = find_unexpired(item.key);
  if (found != kNoEntry && answer_present(item, found)) return item.outcome;
  if (!admitted(item, found, context, now)) return ReserveOutcome::kRefused;
  Budget& tenant = *of_tenant(item.tenant).budget;
  if (item.slot_bytes > tenant.ledger.capacity() ||
      item.slot_bytes > store_.budget.ledger.capacity()) {
    return ReserveOutcome::kTooLarge;
  }
  const auto generation = [&] { return word_of(index_.entry(found)).generation; };
  const std::uint64_t before = found == kNoEntry ? 0 : generation();
  if (!charge(item, now)) return ReserveOutcome::kNoSlot;
  if (!take_slot(item, now)) {
    store_.refund(tenant, item.slot_bytes);
    return ReserveOutcome::kNoSlot;
  }
  // What left for it is remembered, and the oldest ghost forgotten: it may have been this one.
  const bool forgotten = found != kNoEntry && generation() != before;
  const EntryId known = forgotten ? kNoEntry : found;
  const bool returning = known != kNoEntry && uses_of(index_.entry(known)) > 0;
  const EntryId id = enter(item, known);
  if (id == kNoEntry) {
    item.lent = nullptr;
    store_.refund(tenant, item.slot_bytes);
    return ReserveOutcome::kFull;
  }
  item.lent->keep();
  crash_point("reserve");
  count_child(header_of(index_.entry(id)), returning);
  track(id, item.slot_bytes, stamp_now(item.position), context, now);
  counters_.inserts += 1;
  item.entry = id;
  item.entry_generation = word_of(index_.entry(id)).generation;
  item.slot = item.lent->slot();
  return ReserveOutcome::kReserved;
}

/// An expired block is erased rather than found.
EntryId Shard::find_unexpired(const BlockKey& key) {
  const EntryId found = index_.find(key);
  if (found == kNoEntry) return found;
  const Entry& entry = index_.entry(found);
  if (!expires(entry) || word_of(entry).state != EntryState::kCommitted) return found;
  if (header_of(entry).expiry_wall_ns > wall_ns_) return found;
  erase(key, EraseCause::kExpired);
  return index_.find(key);
}

bool Shard::answer_present(ReserveItem& item, EntryId found) const {
  const Entry& entry = index_.entry(found);
  const EntryState state = word_of(entry).state;
  if (state == EntryState::kClaimed || state == EntryState::kGhost) return false;
  item.entry = found;
  if (length_of(entry) != item.length.count) {
    item.outcome = ReserveOutcome::kSizeMismatch;
  } else if (state == EntryState::kFilling) {
    item.outcome = ReserveOutcome::kInFlight;
  } else {
    item.outcome = ReserveOutcome::kPresent;
  }
  return true;
}

/// False: it is remembered that it was asked for.
bool Shard::admitted(const ReserveItem& item, EntryId found, const RequestContext* context,
                     Time now) {
  // The other ranks of an admitted position go with it.
  if (find_sibling(item.key, item.ranks) != kNoEntry) return true;
  PolicyInsert candidate{.id = {},
                         .parent = {},
                         .size = unit_bytes(item.key, item.slot_bytes, item.ranks),
                         .stamp = stamp_now(item.position),
                         .position = item.position};
  BlockKey parent = item.key;
  parent.hash = item.parent;
  const EntryId parent_id = parent.hash == BlockHash{} ? kNoEntry : index_.find(parent);
  if (parent_id != kNoEntry) {
    const Entry& entry = index_.entry(parent_id);
    const EntryState state = word_of(entry).state;
    if (state == EntryState::kFilling || state == EntryState::kCommitted) {
      candidate.parent = PolicyId(entry.unit);
    }
  }
  recall(remembered(item.key, item.ranks, found), now, candidate);
  if (policy_of(item.tenant).admit(candidate, context, cheapest_for(item, now))) return true;
  counters_.refused += 1;
  remember_refused(item, found, candidate, context, now);
  return false;
}

/// The value of what must leave for the block, be it of this shard or, as published, of another.
double Shard::cheapest_for(const ReserveItem& item, Time now) {
  const OfTenant& tenant = of_tenant(item.tenant);
  if (!tenant.policy->prices_admission()) return EvictionPolicy::kRoom;
  const auto skip = [this](PolicyId unit) { return !evictable(unit); };
  for (const Budget* budget : {tenant.budget, &store_.budget}) {
    const Ledger& ledger = budget->ledger;
    if (ledger.demand() + item.slot_bytes <= ledger.capacity()) continue;
    const auto own =
        budget == tenant.budget ? tenant.policy->victim(now, skip) : best_victim(now, skip);
    const double value =
        std::min(own ? own->value : Budget::kUnknown, budget->cheapest_besides(id_).value);
    if (value < Budget::kUnknown) return value;
  }
  return EvictionPolicy::kRoom;
}

bool Shard::charge(const ReserveItem& item, Time now) {
  const OfTenant& tenant = of_tenant(item.tenant);
  return store_.charge(*tenant.budget, item.slot_bytes, [&](Budget& budget) {
    EvictionPolicy* const only = &budget == tenant.budget ? tenant.policy.get() : nullptr;
    return has_room({budget, only}, item.slot_bytes, now);
  });
}

bool Shard::has_room(const Scope& scope, Bytes slot_bytes, Time now) {
  const Ledger& ledger = scope.budget.ledger;
  if (!ledger.over()) return true;
  ShardSet cheaper;  // told by who settles the parked call
  // That a tenant holds all of its quota is found out once a call: it takes a look at thousands of
  // candidates. Of the node, what one item finds held the next may find free.
  const bool known = std::find(held_.begin(), held_.end(), &scope.budget) != held_.end();
  const Room room = known ? Room::kNowhere : make_room(scope, now, steps_, cheaper);
  if (room == Room::kHere) return true;
  if (room == Room::kNowhere && scope.only != nullptr) {  // a quota has no reserve then
    // With no step left there was only no more time.
    if (!known && steps_ > 0) held_.push_back(&scope.budget);
    return false;
  }
  // The only shard has nobody to wait for: what it had no time for is done while the call is
  // parked.
  if (room == Room::kNowhere && store_.shards() == 1) return false;
  // Another shard is told to evict, or all is held: only the reserve may be used meanwhile.
  const Bytes capacity = ledger.capacity();
  const Bytes reserve = slot_bytes <= limits::kReserveSlotMax
                            ? Bytes{capacity.count / limits::kReserveShare}
                            : Bytes{0};
  return ledger.demand() <= capacity + reserve;
}

bool Shard::take_slot(ReserveItem& item, Time now) {
  const auto lend = [&] {
    item.lent = LentSlot::lend(store_.pools, store_.slabs, item.tenant, item.slot_bytes);
    return item.lent != nullptr;
  };
  if (item.lent || lend()) return true;
  free_removed(kRemovedStep);
  if (lend()) return true;
  // Memory that can be had costs no block; and while the ledger is over, what leaves is the
  // cheapest of the node, not of this shard.
  if (store_.budget.ledger.over() || of_tenant(item.tenant).budget->ledger.over() ||
      store_.slabs.may_grow(item.tenant, item.slot_bytes) ||
      store_.has_spare_slab(item.tenant, item.slot_bytes)) {
    return false;
  }
  return evict_from_pool(item.tenant, item.slot_bytes, 1, now) > 0 && lend();
}

EntryId Shard::enter(const ReserveItem& item, EntryId known) {
  EntryId id = known;
  if (id == kNoEntry) {
    const auto inserted = index_.insert(item.key, EntryState::kFilling);
    if (!inserted.ok()) return kNoEntry;
    id = *inserted;
  } else if (word_of(index_.entry(id)).state == EntryState::kGhost) {
    index_.revive(id, EntryState::kFilling);
  } else {
    forget_claim(id);
  }
  const SlotRef& slot = item.lent->slot();
  store_.slabs.prepare(slot, {.key = item.key,
                              .parent = item.parent,
                              .anchor = item.anchor,
                              .engine_hash = item.engine_hash,
                              .writer = item.writer,
                              .expiry_wall_ns = item.expiry_wall_ns,
                              .length = static_cast<std::uint32_t>(item.length.count),
                              .position = item.position,
                              .ranks = item.ranks});
  Entry& entry = index_.mutable_entry(id);
  entry.slot.store(pack_slot(slot), std::memory_order_relaxed);
  set_length(entry, static_cast<std::uint32_t>(item.length.count), item.expiry_wall_ns != 0);
  entry.tenant_tier = item.tenant.value() << 8 | static_cast<std::uint32_t>(Tier::kHost);
  EntryWord word = word_of(entry);
  word.state = EntryState::kFilling;
  entry.word.store(word.pack(), std::memory_order_release);
  return id;
}

void Shard::abort(EntryId entry_id, std::uint64_t entry_generation) {
  if (entry_id == kNoEntry) return;
  Entry& entry = index_.mutable_entry(entry_id);
  const EntryWord filling{.state = EntryState::kFilling, .generation = entry_generation};
  const EntryWord gone{.state = EntryState::kFree, .generation = entry_generation};
  std::uint64_t word = filling.pack();
  if (!entry.word.compare_exchange_strong(word, gone.pack(), std::memory_order_acq_rel)) return;
  untrack(entry_id, EraseCause::kAborted);
  index_.unlink(entry_id);
  free_block(entry_id);
  counters_.aborts += 1;
}

ClaimOutcome Shard::claim(const BlockKey& key, SessionId session, Time deadline) {
  EntryId id = find_unexpired(key);
  if (id == kNoEntry) {
    const auto inserted = index_.insert(key, EntryState::kClaimed);
    if (!inserted.ok()) return ClaimOutcome::kClaimed;
    id = *inserted;
  } else {
    const Entry& entry = index_.entry(id);
    switch (word_of(entry).state) {
      case EntryState::kCommitted:
        return ClaimOutcome::kPresent;
      case EntryState::kClaimed:
        if (entry.slot.load(std::memory_order_relaxed) != session.value()) {
          return ClaimOutcome::kPending;
        }
        forget_claim(id);
        break;
      case EntryState::kGhost:
        index_.revive(id, EntryState::kClaimed);
        break;
      case EntryState::kFree:
      case EntryState::kFilling:
      case EntryState::kRemoved:
        return ClaimOutcome::kPending;
    }
  }
  Entry& entry = index_.mutable_entry(id);
  entry.slot.store(session.value(), std::memory_order_relaxed);
  set_claim_deadline(entry, deadline);
  claims_.insert({deadline, id});
  claims_of_.insert({session, id});
  return ClaimOutcome::kClaimed;
}

void Shard::forget_claim(EntryId id) {
  const Entry& entry = index_.entry(id);
  claims_.erase({claim_deadline(entry), id});
  claims_of_.erase({SessionId(entry.slot.load(std::memory_order_relaxed)), id});
}

void Shard::end_claim(EntryId id) {
  LARDER_ASSERT(word_of(index_.entry(id)).state == EntryState::kClaimed);
  forget_claim(id);
  if (uses_of(index_.entry(id)) > 0) return keep_ghost(id);
  index_.unlink(id);
  index_.free_entry(id);
}

bool Shard::drop_claims(SessionId session, std::uint32_t limit) {
  for (std::uint32_t step = 0; step < limit; ++step) {
    const auto it = claims_of_.lower_bound({session, EntryId(0)});
    if (it == claims_of_.end() || it->first != session) return true;
    end_claim(it->second);
  }
  return false;
}

}  // namespace larder
