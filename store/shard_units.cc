// Units: the entries of one position of one group over all ranks (at a boundary, of all window and
// state groups), in a ring.

#include <bit>

#include "store/assert.h"
#include "store/shard.h"

namespace larder {

namespace {

bool is_tracked(const Entry& entry) {
  const EntryState state = word_of(entry).state;
  return (state == EntryState::kFilling || state == EntryState::kCommitted) &&
         entry.unit != kNoUnit;
}

BlockKey key_of(const SlotHeader& header) {
  return {.ns = NamespaceId(header.ns),
          .hash = {header.hash_high, header.hash_low},
          .group = GroupId(header.group),
          .rank = Rank(header.rank)};
}

}  // namespace

SlotHeader& Shard::header_of(const Entry& entry) const {
  return *store_.slabs.header(unpack_slot(entry.slot.load(std::memory_order_relaxed)));
}

EntryId Shard::find_in_unit(const BlockKey& key, std::uint32_t ranks,
                            absl::FunctionRef<bool(EntryId)> wanted) const {
  BlockKey other = key;
  for (std::uint64_t groups = store_.unit_shapes.of(key.ns).with(key.group); groups != 0;
       groups &= groups - 1) {
    other.group = GroupId(static_cast<std::uint16_t>(std::countr_zero(groups)));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      other.rank = Rank(static_cast<std::uint16_t>(rank));
      if (other == key) continue;
      const EntryId id = index_.find(other);
      if (id != kNoEntry && wanted(id)) return id;
    }
  }
  return kNoEntry;
}

EntryId Shard::find_parent(const SlotHeader& header) const {
  BlockKey key = key_of(header);
  key.hash = {header.parent_high, header.parent_low};
  if (key.hash == BlockHash{}) return kNoEntry;
  const EntryId id = index_.find(key);
  return id != kNoEntry && is_tracked(index_.entry(id)) ? id : kNoEntry;
}

EntryId Shard::find_sibling(const BlockKey& key, std::uint32_t ranks) const {
  return find_in_unit(key, ranks, [this](EntryId id) { return is_tracked(index_.entry(id)); });
}

/// All ranks and, at a boundary, all groups of a unit.
Bytes Shard::unit_bytes(const BlockKey& key, Bytes slot_bytes, std::uint32_t ranks) const {
  const UnitShape shape = store_.unit_shapes.of(key.ns);
  const bool boundary = (shape.boundary_groups >> key.group.value() & 1) != 0;
  return (boundary && shape.boundary_bytes.count != 0 ? shape.boundary_bytes : slot_bytes) * ranks;
}

void Shard::count_child(const SlotHeader& header, bool returning) {
  const BlockHash parent{header.parent_high, header.parent_low};
  if (parent != BlockHash{} && find_parent(header) == kNoEntry) counters_.orphans += 1;
  if (!returning) add_child(key_of(header), parent);  // else counted when it came first
}

/// A parent that has left is remembered with its children.
EntryId Shard::find_known_parent(BlockKey key, const BlockHash& parent) const {
  key.hash = parent;
  const EntryId id = parent == BlockHash{} ? kNoEntry : index_.find(key);
  if (id == kNoEntry) return id;
  const Entry& entry = index_.entry(id);
  return is_tracked(entry) || word_of(entry).state == EntryState::kGhost ? id : kNoEntry;
}

void Shard::add_child(const BlockKey& key, const BlockHash& parent) {
  const EntryId id = find_known_parent(key, parent);
  if (id == kNoEntry) return;
  Entry& entry = index_.mutable_entry(id);
  set_lineage(entry, uses_of(entry), children_of(entry) + 1);
}

void Shard::track(EntryId id, Bytes slot_bytes, Stamp stamp, const RequestContext* context,
                  Time now) {
  Entry& entry = index_.mutable_entry(id);
  const SlotHeader& header = header_of(entry);
  entry.unit = kNoUnit;  // not its own sibling or parent
  if (header.expiry_wall_ns != 0) expiring_ += 1;
  const BlockKey key = key_of(header);
  const EntryId sibling = find_sibling(key, header.ranks);
  if (sibling == kNoEntry) {
    entry.unit_next = id.value();
    lead_unit(id, unit_bytes(key, slot_bytes, header.ranks), stamp, context, now);
    return;
  }
  Entry& other = index_.mutable_entry(sibling);
  entry.unit = other.unit;
  entry.unit_next = other.unit_next;
  other.unit_next = id.value();
}

PolicyInsert Shard::described(EntryId id, Bytes size, Stamp stamp) const {
  const SlotHeader& header = header_of(index_.entry(id));
  PolicyInsert insert{.id = PolicyId(id.value()),
                      .parent = {},
                      .size = size,
                      .stamp = stamp,
                      .position = header.position};
  const EntryId parent = find_parent(header);
  if (parent != kNoEntry) insert.parent = PolicyId(index_.entry(parent).unit);
  return insert;
}

/// Another policy than the one that knew the unit.
void Shard::tell_again(EntryId leader, Bytes slot_bytes, Stamp stamp, Time now) {
  const Entry& entry = index_.entry(leader);
  const SlotHeader& header = header_of(entry);
  PolicyInsert insert =
      described(leader, unit_bytes(key_of(header), slot_bytes, header.ranks), stamp);
  insert.resident = true;
  recall({uses_of(entry), index_.last_use(leader)}, now, insert);
  policy_of(TenantId(entry.tenant_tier >> 8)).on_insert(insert, nullptr);
}

void Shard::lead_unit(EntryId id, Bytes size, Stamp stamp, const RequestContext* context,
                      Time now) {
  Entry& entry = index_.mutable_entry(id);
  const SlotHeader& header = header_of(entry);
  PolicyInsert insert = described(id, size, stamp);
  const Memory memory = remembered(key_of(header), header.ranks, id);
  recall(memory, now, insert);
  inherit(id, memory, now);
  entry.unit = id.value();
  policy_of(TenantId(entry.tenant_tier >> 8)).on_insert(insert, context);
}

void Shard::forget_child(const SlotHeader& header) {
  const EntryId parent = find_known_parent(key_of(header), {header.parent_high, header.parent_low});
  if (parent == kNoEntry) return;
  Entry& entry = index_.mutable_entry(parent);
  // A parent that left and came back has not counted the children it had before; a saturated count
  // says nothing any more.
  const std::uint32_t count = children_of(entry);
  if (count > 0 && count < kChildrenMax) set_lineage(entry, uses_of(entry), count - 1);
}

void Shard::untrack(EntryId id, EraseCause cause) {
  Entry& entry = index_.mutable_entry(id);
  const SlotHeader& header = header_of(entry);
  // A ghost is remembered as a child: when it comes back it is not counted again.
  if (cause != EraseCause::kEvicted || entry.unit != id.value()) forget_child(header);
  if (header.expiry_wall_ns != 0) expiring_ -= 1;
  EvictionPolicy& policy = policy_of(TenantId(entry.tenant_tier >> 8));
  const bool led = entry.unit == id.value();
  if (led) policy.on_erase(PolicyId(id.value()), cause);
  const EntryId next(entry.unit_next);
  entry.unit = kNoUnit;
  if (next == id) return;
  EntryId before = next;
  std::uint32_t left = 1;
  while (index_.entry(before).unit_next != id.value()) {
    if (led) index_.mutable_entry(before).unit = next.value();
    before = EntryId(index_.entry(before).unit_next);
    left += 1;
  }
  Entry& last = index_.mutable_entry(before);
  last.unit_next = next.value();
  if (!led) return;
  last.unit = next.value();
  // A unit without one of its ranks serves no match: it goes first.
  const SlotRef slot = unpack_slot(index_.entry(next).slot.load(std::memory_order_relaxed));
  lead_unit(next, store_.slabs.slot_bytes(slot) * left, Stamp(0), nullptr, Time{});
}

}  // namespace larder
