// After a death: of the daemon (adopt), or of the shard's actor alone (rebuild).

#include <algorithm>
#include <bit>
#include <tuple>

#include "store/assert.h"
#include "store/shard.h"

namespace larder {

namespace {

constexpr std::uint32_t kNoUnit = 0xffffffff;

/// What is known of its use is lost: the root counts as the most recent.
Stamp stamp_of(std::uint32_t position) {
  constexpr std::uint64_t kPositions = 1ULL << kStampPositionBits;
  return Stamp(kPositions - 1 - (position & (kPositions - 1)));
}

}  // namespace

bool Shard::adopt(const SlotRef& slot, TenantId tenant) {
  const SlotHeader& header = *store_.slabs.header(slot);
  const BlockKey key{.ns = NamespaceId(header.ns),
                     .hash = {header.hash_high, header.hash_low},
                     .group = GroupId(header.group),
                     .rank = Rank(header.rank)};
  if (index_.find(key) == kNoEntry) {
    const auto id = index_.insert(key, EntryState::kFilling);
    if (id.ok()) {
      Entry& entry = index_.mutable_entry(*id);
      entry.slot.store(pack_slot(slot), std::memory_order_relaxed);
      set_length(entry, header.length, header.expiry_wall_ns != 0);
      entry.tenant_tier = tenant.value() << 8 | static_cast<std::uint32_t>(Tier::kHost);
      const Bytes slot_bytes = store_.slabs.slot_bytes(slot);
      // Who is over then shrinks.
      store_.charge(store_.tenants.of(tenant), slot_bytes, [](Budget&) { return true; });
      count_child(header, false);
      track(*id, slot_bytes, stamp_of(header.position), nullptr, Time{});
      const EntryWord word = word_of(entry);
      LARDER_ASSERT(index_.commit(*id, word.generation));
      counters_.adopted += 1;
      return true;
    }
  }
  store_.slabs.clear(slot);
  store_.pools.give(slot);
  return false;
}

void Shard::rebuild() {
  struct Found {
    std::uint32_t position;
    EntryId id;
  };
  std::vector<Found> blocks;
  for (std::uint32_t i = 0; i < index_.entry_limit(); ++i) {
    const EntryId id(i);
    Entry& entry = index_.mutable_entry(id);
    switch (word_of(entry).state) {
      case EntryState::kFree:
        break;
      case EntryState::kClaimed: {
        const auto ns = static_cast<std::uint64_t>(entry.unit) << 32 | entry.unit_next;
        claims_.insert({Time(Duration(std::bit_cast<std::int64_t>(ns))), id});
        claims_of_.insert({SessionId(entry.slot.load(std::memory_order_relaxed)), id});
        break;
      }
      case EntryState::kFilling:
      case EntryState::kCommitted:
        entry.unit = kNoUnit;
        blocks.push_back({header_of(entry).position, id});
        break;
      case EntryState::kRemoved:
        removed_.push_back(id);
        break;
      case EntryState::kGhost:
        remember_ghost(id);
        break;
    }
  }
  std::sort(blocks.begin(), blocks.end(), [](const Found& a, const Found& b) {
    return std::tie(a.position, a.id) < std::tie(b.position, b.id);
  });
  for (const Found& block : blocks) {
    const SlotRef slot = unpack_slot(index_.entry(block.id).slot.load(std::memory_order_relaxed));
    track(block.id, store_.slabs.slot_bytes(slot), stamp_of(block.position), nullptr, Time{});
  }
}

}  // namespace larder
