// What the store's tests share: a directory of their own, exact LRU, and short ways to say a block.

#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stdlib.h>

#include "store/node_store.h"
#include "store/shard.h"
#include "tests/temp_dir.h"

namespace larder::test {

inline constexpr Time kNow{};
inline constexpr TenantId kTenant{1};

/// Exact LRU by stamp; remembers the sizes and parents it was told.
class TestPolicy final : public EvictionPolicy {
 public:
  void on_request(const RequestContext& /*context*/) override {}
  void on_request_end(const RequestContext& /*context*/, std::uint32_t /*tokens*/) override {}
  bool admit(const PolicyInsert& /*candidate*/, const RequestContext* context,
             double /*cheapest*/) override {
    return context == nullptr || context->priority != 2;
  }
  void on_refused(const PolicyInsert& insert, const RequestContext* /*context*/) override {
    refused[insert.id] = insert;
  }
  void on_insert(const PolicyInsert& insert, const RequestContext* /*context*/) override {
    inserted[insert.id] = insert;
    order_[{insert.stamp, insert.id}] = insert.id;
  }
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* /*context*/) override {
    const auto it = inserted.find(id);
    if (it == inserted.end()) return;
    hits += 1;
    order_.erase({it->second.stamp, id});
    it->second.stamp = stamp;
    order_[{stamp, id}] = id;
  }
  void on_erase(PolicyId id, EraseCause /*cause*/) override {
    const auto it = inserted.find(id);
    if (it == inserted.end()) return;
    order_.erase({it->second.stamp, id});
    inserted.erase(it);
  }
  std::optional<Victim> victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) override {
    for (const auto& [rank, id] : order_) {
      if (!skip(id)) return Victim{id, static_cast<double>(rank.first.value())};
    }
    return {};
  }

  std::map<PolicyId, PolicyInsert> inserted;
  std::map<PolicyId, PolicyInsert> refused;
  int hits = 0;

 private:
  std::map<std::pair<Stamp, PolicyId>, PolicyId> order_;
};

inline BlockKey key_of(std::uint64_t n, std::uint16_t rank = 0, std::uint16_t group = 0) {
  return {.ns = NamespaceId(7),
          .hash = {n * 0x9e3779b97f4a7c15ULL + 1, ~n},
          .group = GroupId(group),
          .rank = Rank(rank)};
}

/// A store with one shard (or more), and what io threads and the slab actor would do for it.
struct Node {
  explicit Node(Bytes capacity, std::uint32_t shard_count = 1)
      : store({.runtime_dir = dir.path(), .capacity = capacity, .shards = shard_count}) {
    auto opened = store.open([](const std::string& /*name*/) { return kTenant; });
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    shards.resize(shard_count);
    for (std::uint32_t i = 0; i < shard_count; ++i)
      make_shard(i);
  }

  /// Also in place of one that died.
  void make_shard(std::uint32_t i) {
    shards[i] = std::make_unique<Shard>(ShardId(i), store, [this, i](TenantId) {
      auto made = std::make_unique<TestPolicy>();
      if (i == 0) policy = made.get();
      return made;
    });
  }

  ReserveItem item(const BlockKey& key, Bytes slot_bytes, TenantId tenant = kTenant) {
    ReserveItem made;
    made.key = key;
    made.tenant = tenant;
    made.anchor = key.hash;
    made.length = slot_bytes;
    made.slot_bytes = slot_bytes;
    made.writer = WriterId(99);
    return made;
  }

  /// Asks once more for each slab that can be made or taken from another pool.
  ReserveItem reserve(ReserveItem wanted, std::uint32_t shard = 0) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      shards[shard]->reserve({&wanted, 1}, std::nullopt, kNow);
      if (wanted.outcome != ReserveOutcome::kNoSlot || !provide(wanted, shard)) break;
    }
    return wanted;
  }

  bool provide(const ReserveItem& wanted, std::uint32_t shard) {
    const TenantId tenant = wanted.tenant;
    const Bytes slot_bytes = wanted.slot_bytes;
    if (grow(tenant, slot_bytes)) return true;
    if (!store.has_spare_slab(tenant, slot_bytes) &&
        shards[shard]->evict_from_pool(tenant, slot_bytes, 1, kNow) > 0) {
      return true;
    }
    const bool of_all = store.slabs.below_quota(tenant);
    Bytes given_up;
    for (const SlotPools::SlabUse& use : store.pools.slabs_of_others(tenant, slot_bytes)) {
      if (!of_all && use.tenant != tenant) continue;
      const Bytes bytes = store.slabs.find(use.id)->bytes();
      store.pools.close_slab(use.id);
      std::uint32_t cursor = 0;
      shards[shard]->evict_slab(use.id, &cursor, 0xffffffff);
      if (!store.pools.remove_closed_slab(use.id)) {
        store.pools.reopen_slab(use.id);
        continue;
      }
      if (!store.slabs.retire(use.id).ok()) return false;
      if (use.tenant == tenant) given_up = given_up + bytes;
      if (grow(tenant, slot_bytes, given_up)) return true;
    }
    return false;
  }

  bool grow(TenantId tenant, Bytes slot_bytes, Bytes given_up = {}) {
    if (!store.slabs.may_grow(tenant, slot_bytes, given_up)) return false;
    auto slab = store.slabs.create(tenant, "tenant-" + std::to_string(tenant.value()), slot_bytes);
    if (!slab.ok()) return false;
    store.pools.add_slab(**slab);
    return true;
  }

  bool fill(const ReserveItem& reserved, std::uint32_t shard = 0) {
    if (reserved.outcome != ReserveOutcome::kReserved) return false;
    store.slabs.seal(reserved.slot, 4711);
    return store.indexes[shard]->commit(reserved.entry, reserved.entry_generation);
  }

  bool put(const BlockKey& key, Bytes slot_bytes, std::uint32_t shard = 0,
           TenantId tenant = kTenant) {
    return fill(reserve(item(key, slot_bytes, tenant), shard), shard);
  }

  Index& index(std::uint32_t shard = 0) { return *store.indexes[shard]; }
  bool has(const BlockKey& key, std::uint32_t shard = 0) {
    const EntryId id = index(shard).find(key);
    return id != kNoEntry &&
           EntryWord::unpack(index(shard).entry(id).word.load()).state == EntryState::kCommitted;
  }
  std::optional<Hold> lease(const BlockKey& key, std::uint32_t shard = 0) {
    const EntryId id = index(shard).find(key);
    return id == kNoEntry ? std::nullopt : index(shard).lease(id, key);
  }

  TempDir dir;
  NodeStore store;
  std::vector<std::unique_ptr<Shard>> shards;
  TestPolicy* policy = nullptr;  ///< of shard 0, the last one made
};

}  // namespace larder::test
