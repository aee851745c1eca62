#include "store/node_store.h"

#include <algorithm>
#include <tuple>

#include "store/chain.h"
#include "store/status_macros.h"

namespace larder {

NodeStore::NodeStore(const Options& options)
    : budget(options.capacity, options.shards),
      tenants(options.shards),
      slabs(options.runtime_dir, options.capacity, &tenants) {
  for (std::uint32_t i = 0; i < options.shards; ++i)
    indexes.push_back(std::make_unique<Index>(domain));
}

absl::StatusOr<NodeStore::OpenReport> NodeStore::open(
    absl::FunctionRef<TenantId(const std::string&)> tenant_of) {
  OpenReport report;
  LARDER_ASSIGN_OR_RETURN(report.slabs, slabs.open(tenant_of));
  report.adopted.resize(shards());
  for (const SlabId id : slabs.slab_ids())
    scan(*slabs.find(id), report);
  for (std::vector<AdoptItem>& items : report.adopted) {
    std::sort(items.begin(), items.end(), [](const AdoptItem& a, const AdoptItem& b) {
      return std::tie(a.position, a.slot) < std::tie(b.position, b.slot);
    });
  }
  return report;
}

void NodeStore::scan(Slab& slab, OpenReport& report) {
  std::vector<SlotRef> damaged;
  pools.add_slab(slab, [&](std::uint32_t slot) {
    const SlotHeader& header = *slab.header(slot);
    const SlotCondition condition = inspect(header, slab.slot_bytes());
    if (condition == SlotCondition::kDamaged) damaged.push_back({slab.id(), slot});
    if (condition != SlotCondition::kCommitted) return condition == SlotCondition::kEmpty;
    const ShardId shard = shard_of({header.anchor_high, header.anchor_low}, shards());
    report.adopted[shard.value()].push_back(
        {.slot = {slab.id(), slot}, .tenant = slab.tenant(), .position = header.position});
    return false;
  });
  for (const SlotRef& slot : damaged)
    pools.forget(slot);
  report.slots_quarantined += damaged.size();
}

void NodeStore::set_capacity(Bytes capacity) {
  budget.ledger.set_capacity(capacity);
  slabs.set_capacity(capacity);
}

absl::flat_hash_set<NamespaceId> NodeStore::namespaces_in_use() const {
  absl::flat_hash_set<NamespaceId> used;
  for (const auto& index : indexes) {
    const std::uint32_t entries = index->entry_limit();
    for (std::uint32_t i = 0; i < entries; ++i) {
      const Entry& entry = index->entry(EntryId(i));
      switch (word_of(entry).state) {
        case EntryState::kFilling:
        case EntryState::kCommitted:
        case EntryState::kRemoved:
          used.insert(NamespaceId(entry.ns.load(std::memory_order_relaxed)));
          break;
        case EntryState::kFree:
        case EntryState::kClaimed:
        case EntryState::kGhost:
          break;
      }
    }
  }
  return used;
}

}  // namespace larder
