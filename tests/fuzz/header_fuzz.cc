// The directory that a daemon finds at its start: slab headers, slot headers, the next id. Whatever
// stands there: no crash; what is adopted lies inside its slab and is adopted once; what is not is
// free or never used again; blocks can be put beside it, and a start after that finds the same.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "policies/lru_policy.h"
#include "store/assert.h"
#include "store/chain.h"
#include "store/node_store.h"
#include "store/shard.h"
#include "tests/fuzz/reached.h"
#include "tests/fuzz/slab_files.h"
#include "tests/temp_dir.h"
#include "transport/socket.h"

namespace larder {
namespace {

constexpr std::uint32_t kShards = 2;
constexpr Bytes kCapacity{1 << 20};
constexpr Bytes kSlot{4096};
constexpr TenantId kTenant{0};
fuzz::Reached reached;

/// Shard and key: a client that names another anchor has the same key in another shard.
using Place = std::pair<std::uint32_t, BlockKey>;

/// A start of a daemon on a directory.
struct Started {
  explicit Started(const std::string& dir)
      : store({.runtime_dir = dir, .capacity = kCapacity, .shards = kShards}) {
    auto opened = store.open([this](const std::string& name) { return tenant(name); });
    if (!opened.ok()) {
      LARDER_ASSERT(!opened.status().message().empty());
      return;
    }
    ok = true;
    report = *std::move(opened);
    for (std::uint32_t i = 0; i < kShards; ++i) {
      shards.push_back(std::make_unique<Shard>(
          ShardId(i), store, [](TenantId) { return std::make_unique<LruPolicy>(); }));
      for (const AdoptItem& item : report.adopted[i])
        adopt(i, item);
    }
  }

  TenantId tenant(const std::string& name) {
    LARDER_ASSERT(name.size() <= SlabFileHeader::kTenantNameMax);
    const auto next = TenantId(1 + static_cast<std::uint32_t>(tenants.size()));
    return tenants.try_emplace(name, next).first->second;
  }

  void adopt(std::uint32_t shard, const AdoptItem& item) {
    const Slab* slab = store.slabs.find(item.slot.slab);
    LARDER_ASSERT(slab != nullptr);
    LARDER_ASSERT(item.slot.slot < slab->slots());
    SlotHeader& header = *slab->header(item.slot.slot);
    LARDER_ASSERT(header.length <= slab->slot_bytes().count);
    const BlockKey key = peek_key(header);
    if (!shards[shard]->adopt(item.slot, item.tenant)) return;
    LARDER_ASSERT(slots.insert(item.slot).second);
    LARDER_ASSERT(blocks.emplace(Place{shard, key}, item.slot).second);
    // Both ends of the slot can be read.
    const std::byte* data = slab->data(item.slot.slot);
    LARDER_ASSERT(static_cast<unsigned>(data[0]) + static_cast<unsigned>(data[header.length - 1]) <
                  512);
  }

  /// A block more, as a session would put it; false when there is no room.
  bool put(std::uint64_t name) {
    ReserveItem item;
    item.key = {.ns = NamespaceId(99), .hash = {name, 1}, .group = GroupId(0), .rank = Rank(0)};
    item.tenant = kTenant;
    item.anchor = item.key.hash;
    item.length = item.slot_bytes = kSlot;
    const std::uint32_t shard = shard_of(item.anchor, kShards).value();
    shards[shard]->reserve({&item, 1}, std::nullopt, Time{});
    if (item.outcome != ReserveOutcome::kReserved) return false;
    forget_evicted(item.slot);
    store.slabs.seal(item.slot, 1);
    LARDER_ASSERT(store.indexes[shard]->commit(item.entry, item.entry_generation));
    slots.insert(item.slot);
    blocks.emplace(Place{shard, item.key}, item.slot);
    return true;
  }

  /// A slot is given again only when its block has left.
  void forget_evicted(const SlotRef& slot) {
    std::erase_if(blocks, [&](const auto& block) {
      if (block.second != slot) return false;
      const auto& [shard, key] = block.first;
      const EntryId id = store.indexes[shard]->find(key);
      LARDER_ASSERT(id == kNoEntry || !store.indexes[shard]->lease(id, key));
      return true;
    });
  }

  bool ok = false;
  NodeStore store;
  NodeStore::OpenReport report;
  std::vector<std::unique_ptr<Shard>> shards;
  std::map<std::string, TenantId> tenants;
  std::set<SlotRef> slots;
  std::map<Place, SlotRef> blocks;
};

/// Slots of slabs that were found are free, adopted or quarantined, and no other.
void check_slots(const Started& node) {
  std::uint64_t slots = 0;
  for (const SlabId id : node.store.slabs.slab_ids())
    slots += node.store.slabs.find(id)->slots();
  std::uint64_t free = 0;
  for (const SlotPools::Usage& pool : node.store.pools.usage())
    free += pool.free;
  LARDER_ASSERT(free + node.slots.size() + node.report.slots_quarantined == slots);
}

void put_beside(Started& node) {
  LARDER_ASSERT(node.store.slabs.free_space().ok());
  LARDER_ASSERT(node.store.slabs.beyond_capacity() <= kCapacity);
  if (!node.store.slabs.may_grow(kTenant, kSlot)) return;
  LARDER_ASSERT(node.store.slabs.below_quota(kTenant) || node.store.tenants.quota(kTenant));
  const auto slab = node.store.slabs.create(kTenant, "mine", kSlot);
  if (!slab.ok()) return;
  for (const SlabId id : node.store.slabs.slab_ids())
    LARDER_ASSERT(id <= (*slab)->id());  // ids only grow
  node.store.pools.add_slab(**slab);
  for (std::uint64_t n = 0; n < (*slab)->slots() && node.put(n); ++n) {
  }
}

/// A slab without a block leaves, as when its memory is wanted elsewhere.
void retire_emptied(Started& node, SlabId id) {
  node.store.pools.close_slab(id);
  if (!node.store.pools.remove_closed_slab(id)) return node.store.pools.reopen_slab(id);
  const auto fds = node.store.slabs.open_read_only(id);
  LARDER_ASSERT(fds.ok());
  const Fd data(fds->data);
  const Fd headers(fds->headers);
  LARDER_ASSERT(node.store.slabs.retire(id).ok());
  LARDER_ASSERT(!node.store.slabs.retire(id).ok());
  LARDER_ASSERT(!node.store.slabs.open_read_only(id).ok());
  LARDER_ASSERT(node.store.slabs.find(id) == nullptr);
  node.store.slabs.release_retired(id);
}

/// Its actors die, one block is removed under a reader and another claimed: nothing is lost by
/// that.
void restart_shards(Started& node) {
  std::optional<Hold> held;
  for (std::uint32_t i = 0; i < kShards; ++i) {
    const BlockKey claimed{.ns = NamespaceId(98), .hash = {i, i}};
    node.shards[i]->claim(claimed, SessionId(1), Time(std::chrono::hours(1)));
    for (const auto& [place, slot] : node.blocks) {
      if (place.first != i) continue;
      const EntryId entry = node.store.indexes[i]->find(place.second);
      held = node.store.indexes[i]->lease(entry, place.second);
      if (held) node.shards[i]->erase(place.second, EraseCause::kRemoved);
      if (held) node.store.indexes[i]->release(entry);
      node.forget_evicted(SlotRef(slot));  // the map's own goes with its block
      break;
    }
    node.shards[i] = std::make_unique<Shard>(
        ShardId(i), node.store, [](TenantId) { return std::make_unique<LruPolicy>(); });
    node.shards[i]->rebuild();
    node.shards[i]->tick(Time(std::chrono::hours(2)), 0);
  }
}

/// Evicts what was adopted, as when the node is full.
void empty(Started& node) {
  node.store.set_capacity(Bytes{0});
  for (const auto& shard : node.shards)
    shard->evict_over(Time{});
  LARDER_ASSERT(node.store.slabs.excess() <= node.store.slabs.total_bytes());
  for (const SlabId id : node.store.slabs.slab_ids())
    retire_emptied(node, id);
  LARDER_ASSERT(node.store.slabs.retired_bytes() == Bytes{0});
}

void run(FuzzedDataProvider& in) {
  // One for all inputs: what an input leaves is removed before the next.
  static const test::TempDir dir(test::kShm);
  for (const auto& left : std::filesystem::directory_iterator(dir.path()))
    std::filesystem::remove_all(left);
  fuzz::SlabFiles(in, dir.path()).write();
  std::map<Place, SlotRef> before;
  {
    Started first(dir.path());
    if (!first.ok) return;
    if (first.report.slabs.slabs > 0) reached.past();
    check_slots(first);
    // Whole kilobytes of a quota, or none.
    if (const int power = in.ConsumeIntegralInRange(10, 24); power <= 20)
      first.store.tenants.set_quota(kTenant, Bytes{1ULL << power});
    put_beside(first);
    if (in.ConsumeBool()) restart_shards(first);
    if (in.ConsumeBool()) empty(first);
    for (const auto& [key, slot] : first.blocks) {
      if (first.store.slabs.find(slot.slab) == nullptr) continue;
      if (inspect(*first.store.slabs.header(slot), first.store.slabs.slot_bytes(slot)) ==
          SlotCondition::kCommitted) {
        before.emplace(key, slot);
      }
    }
  }
  const Started second(dir.path());
  LARDER_ASSERT(second.ok);
  LARDER_ASSERT(second.report.slabs.slabs_set_aside == 0);
  LARDER_ASSERT(second.blocks == before);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::reached.input();
  FuzzedDataProvider in(data, size);
  larder::run(in);
  return 0;
}
