// After a death of the shard's actor alone: policy state, units, claims and ghosts again, in steps.
// When the policy becomes another: policy state alone.

#include <algorithm>
#include <bit>
#include <utility>

#include "store/shard.h"

namespace larder {

namespace {

constexpr std::uint32_t kStep = 1'024;

/// Of blocks that were here before the change: older than all that comes, in order of their uses.
Stamp stamp_before(std::uint64_t sequence, const FoundBlock& block) {
  constexpr std::uint64_t kPositions = 1ULL << kStampPositionBits;
  const std::uint64_t from_end = kPositions - 1 - (block.position & (kPositions - 1));
  return Stamp((sequence - block.age) << kStampPositionBits | from_end);
}

}  // namespace

std::vector<std::unique_ptr<EvictionPolicy>> Shard::change_policy(PolicyChange change) {
  make_policy_ = change.make_policy;
  std::vector<std::unique_ptr<EvictionPolicy>> replaced;
  for (auto& [id, tenant] : tenants_)
    replaced.push_back(std::exchange(tenant.policy, make_policy_(id)));
  change_ = std::move(change);
  rebuilt_to_ = 0;
  return replaced;
}

void Shard::rebuild() {
  while (rebuild_some(kStep)) {
  }
}

bool Shard::rebuild_some(std::uint32_t limit) {
  if (rebuilt_to_ < index_.entry_limit()) {
    remember_entries(limit);
    return true;
  }
  for (; limit > 0 && !found_.empty(); --limit) {
    const FoundBlock block = found_.take_first();
    const Bytes slot_bytes = slot_bytes_of(block.id);
    if (change_) {
      tell_again(block.id, slot_bytes, stamp_before(change_->sequence, block), change_->now);
    } else {
      track(block.id, slot_bytes, stamp_unused(block.position), nullptr, Time{});
    }
  }
  if (!found_.empty()) return true;
  if (change_) publish_cheapest(change_->now);
  change_.reset();
  return false;
}

void Shard::remember_entries(std::uint32_t limit) {
  const auto end = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(index_.entry_limit(), std::uint64_t{rebuilt_to_} + limit));
  for (; rebuilt_to_ < end; ++rebuilt_to_) {
    const EntryId id(rebuilt_to_);
    if (change_ ? leads_unit(id) : remember_entry(id)) {
      found_.add({age_of(id), header_of(index_.entry(id)).position, id});
    }
  }
  if (end == index_.entry_limit()) found_.close();
}

bool Shard::leads_unit(EntryId id) const {
  const Entry& entry = index_.entry(id);
  const EntryState state = word_of(entry).state;
  return (state == EntryState::kFilling || state == EntryState::kCommitted) &&
         entry.unit == id.value();
}

Bytes Shard::slot_bytes_of(EntryId id) const {
  return store_.slabs.slot_bytes(
      unpack_slot(index_.entry(id).slot.load(std::memory_order_relaxed)));
}

/// After a death alone, who was used last is not asked: a clock of requests may be gone too.
std::uint32_t Shard::age_of(EntryId id) const {
  if (!change_) return 0;
  const auto steps = gap(use_tick(change_->now), index_.last_use(id)) / kUseTick;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(steps, PolicyChange::kAgesKept - 1));
}

/// True for a block, which is to be tracked when all are known.
bool Shard::remember_entry(EntryId id) {
  Entry& entry = index_.mutable_entry(id);
  switch (word_of(entry).state) {
    case EntryState::kFree:
      return false;
    case EntryState::kClaimed: {
      const auto ns = static_cast<std::uint64_t>(entry.unit) << 32 | entry.unit_next;
      claims_.insert({Time(Duration(std::bit_cast<std::int64_t>(ns))), id});
      claims_of_.insert({SessionId(entry.slot.load(std::memory_order_relaxed)), id});
      return false;
    }
    case EntryState::kFilling:
    case EntryState::kCommitted:
      entry.unit = kNoUnit;
      return true;
    case EntryState::kRemoved:
      removed_.push_back(id);
      return false;
    case EntryState::kGhost:
      remember_ghost(id);
      return false;
  }
  return false;
}

}  // namespace larder
