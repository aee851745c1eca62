// After a death of the daemon.

#include "store/assert.h"
#include "store/shard.h"

namespace larder {

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
      track(*id, slot_bytes, stamp_unused(header.position), nullptr, Time{});
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

}  // namespace larder
