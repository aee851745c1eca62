// After a death of the shard's actor alone: policy state, units, claims and ghosts again, in steps.

#include <algorithm>
#include <bit>
#include <utility>

#include "store/shard.h"

namespace larder {

namespace {

constexpr std::uint32_t kStep = 1'024;

}  // namespace

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
    const SlotRef slot = unpack_slot(index_.entry(block.id).slot.load(std::memory_order_relaxed));
    track(block.id, store_.slabs.slot_bytes(slot), stamp_unused(block.position), nullptr, Time{});
  }
  return !found_.empty();
}

void Shard::remember_entries(std::uint32_t limit) {
  const auto end = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(index_.entry_limit(), std::uint64_t{rebuilt_to_} + limit));
  for (; rebuilt_to_ < end; ++rebuilt_to_) {
    const EntryId id(rebuilt_to_);
    if (remember_entry(id)) found_.add({header_of(index_.entry(id)).position, id});
  }
  if (end == index_.entry_limit()) found_.close();
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
