// A small store for tests of actors, with short ways to say what io threads ask of shards.

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>
#include <stdlib.h>

#include "actors/inbox.h"
#include "actors/shard_calls.h"
#include "store/node_store.h"
#include "tests/temp_dir.h"

namespace larder::sim {

inline constexpr Bytes kSlot{4096};
inline constexpr std::uint64_t kSlots = 1024;  ///< of capacity; 16 a slab
inline const Time kStart = Time(std::chrono::hours(1));

struct StoreFixture {
  explicit StoreFixture(std::uint32_t shards = 1) {
    store = std::make_unique<NodeStore>(
        NodeStore::Options{.runtime_dir = dir, .capacity = kSlot * kSlots, .shards = shards});
    BOOST_REQUIRE(store->open([](const std::string&) { return TenantId(0); }).ok());
  }
  ~StoreFixture() {
    lost_aborts.clear();
    store = nullptr;
  }

  static BlockKey key(std::uint64_t n) { return {NamespaceId(1), {n, 3}, GroupId(0), Rank(0)}; }

  std::shared_ptr<ReserveCall> reserve(std::uint64_t first, std::uint64_t count) {
    auto call = std::make_shared<ReserveCall>();
    for (std::uint64_t n = first; n < first + count; ++n) {
      ReserveItem item;
      item.key = key(n);
      item.tenant = TenantId(0);
      item.length = kSlot;
      item.slot_bytes = kSlot;
      call->items.push_back(item);
    }
    call->deadline = kStart + std::chrono::seconds(1);
    call->reply_to = &inbox;
    return call;
  }
  std::shared_ptr<ClaimCall> claim(std::uint64_t n, SessionId session) {
    auto call = std::make_shared<ClaimCall>();
    call->keys.push_back(key(n));
    call->session = session;
    call->deadline = kStart + std::chrono::seconds(1);
    call->reply_to = &inbox;
    return call;
  }
  std::shared_ptr<EraseCall> erase(std::uint64_t n) {
    auto call = std::make_shared<EraseCall>();
    call->keys.push_back(key(n));
    call->reply_to = &inbox;
    return call;
  }
  std::shared_ptr<const AbortNote> abort_of(const ReserveCall& call, ShardId shard = {}) {
    auto note = std::make_shared<AbortNote>(shard, &inbox);
    for (const ReserveItem& item : call.items)
      note->items.push_back({item.entry, item.entry_generation});
    return note;
  }

  void make_slab() {
    auto slab = store->slabs.create(TenantId(0), "t", kSlot);
    BOOST_REQUIRE(slab.ok());
    store->pools.add_slab(**slab);
  }
  void commit(const ReserveCall& call, std::uint32_t shard = 0) {
    for (const ReserveItem& item : call.items) {
      BOOST_REQUIRE((item.outcome == ReserveOutcome::kReserved));
      store->slabs.seal(item.slot, 1);
      BOOST_REQUIRE(store->indexes[shard]->commit(item.entry, item.entry_generation));
    }
  }
  /// What the index says of a key; kFree when it is absent.
  EntryState state(std::uint64_t n, std::uint32_t shard = 0) {
    const Index& index = *store->indexes[shard];
    const EntryId id = index.find(key(n));
    return id == kNoEntry ? EntryState::kFree
                          : EntryWord::unpack(index.entry(id).word.load()).state;
  }
  /// Answers since the last call, and how many of them were lost. Keeps aborts that came back.
  std::pair<int, int> answers() {
    int all = 0;
    int lost = 0;
    for (const Inbox::Item& item : inbox.take()) {
      if (const auto* note = std::get_if<std::shared_ptr<const AbortNote>>(&item)) {
        lost_aborts.push_back(*note);
        continue;
      }
      all += 1;
      if (std::get<std::shared_ptr<ShardCall>>(item)->lost) lost += 1;
    }
    return {all, lost};
  }

  test::TempDir temp{test::kShm};
  const std::string& dir = temp.path();
  Inbox inbox;
  std::vector<std::shared_ptr<const AbortNote>> lost_aborts;
  std::unique_ptr<NodeStore> store;
};

}  // namespace larder::sim
