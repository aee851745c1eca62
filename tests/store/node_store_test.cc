// Restart: a new store on the directory of an old one.

#include "store/node_store.h"

#include <map>

#include <boost/test/unit_test.hpp>

#include "store/chain.h"
#include "tests/store/store_fixture.h"

namespace larder::node_store_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::kTenant;
using test::Node;

constexpr Bytes kSlot = 64_KiB;

/// A second life of `node`'s directory.
struct Restarted {
  explicit Restarted(const Node& node, std::uint32_t shard_count)
      : store({.runtime_dir = node.dir.path(), .capacity = 16_MiB, .shards = shard_count}),
        report(store
                   .open([](const std::string& name) {
                     return name == "tenant-1" ? kTenant : TenantId(77);
                   })
                   .value()) {
    for (std::uint32_t i = 0; i < shard_count; ++i) {
      shards.push_back(std::make_unique<Shard>(
          ShardId(i), store, [](TenantId) { return std::make_unique<test::TestPolicy>(); }));
      for (const AdoptItem& item : report.adopted[i])
        adopted += shards[i]->adopt(item.slot, item.tenant) ? 1 : 0;
    }
  }
  bool has(const BlockKey& key) {
    Index& index = *store.indexes[shard_of(key.hash, store.shards()).value()];
    const EntryId id = index.find(key);
    return id != kNoEntry && index.lease(id, key).has_value();
  }

  NodeStore store;
  NodeStore::OpenReport report;
  std::vector<std::unique_ptr<Shard>> shards;
  int adopted = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(node_store)

BOOST_AUTO_TEST_CASE(committed_blocks_come_back_and_nothing_else) {
  Node node(16_MiB);
  for (std::uint64_t n = 0; n < 40; ++n)
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
  node.reserve(node.item(key_of(40), kSlot));
  node.shards[0]->erase(key_of(3), EraseCause::kRemoved);
  node.store.set_capacity(kSlot * 35);
  node.shards[0]->evict_over(kNow);
  std::map<std::uint64_t, bool> before;
  for (std::uint64_t n = 0; n <= 40; ++n)
    before[n] = node.has(key_of(n));

  Restarted next(node, 3);

  BOOST_TEST(next.adopted == 34);
  BOOST_TEST(next.store.budget.ledger.used() == kSlot * 34);
  for (const auto& [n, there] : before)
    BOOST_TEST(next.has(key_of(n)) == there, "block " << n);
  BOOST_TEST(next.store.pools.free_count(kTenant, kSlot) + 34 ==
             next.store.pools.total(kTenant, kSlot));
}

BOOST_AUTO_TEST_CASE(a_damaged_header_costs_its_block_alone) {
  Node node(16_MiB);
  for (std::uint64_t n = 0; n < 10; ++n)
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
  const Hold hold = node.lease(key_of(4)).value();
  node.store.slabs.header(hold.slot)->length += 1;

  Restarted next(node, 1);

  BOOST_TEST(next.adopted == 9);
  BOOST_TEST(next.report.slots_quarantined == 1U);
  BOOST_TEST(!next.has(key_of(4)));
  SlotRef slot;
  while (next.store.pools.take(kTenant, kSlot, &slot))
    BOOST_TEST(slot != hold.slot);
}

BOOST_AUTO_TEST_CASE(a_key_found_twice_is_adopted_once) {
  Node node(16_MiB);
  BOOST_REQUIRE(node.put(key_of(1), kSlot));
  BOOST_REQUIRE(node.put(key_of(2), kSlot));
  SlotHeader& second = *node.store.slabs.header(node.lease(key_of(2))->slot);
  clear(second);
  prepare(second, {.key = key_of(1), .anchor = key_of(1).hash, .length = 100});
  seal(second, 1);

  Restarted next(node, 1);

  BOOST_TEST(next.adopted == 1);
  BOOST_TEST(next.store.budget.ledger.used() == kSlot);
  BOOST_TEST(next.store.pools.free_count(kTenant, kSlot) + 1 ==
             next.store.pools.total(kTenant, kSlot));
}

BOOST_AUTO_TEST_CASE(re_adopted_blocks_are_their_tenants_and_leave_if_it_is_over_its_quota) {
  Node node(16_MiB);
  for (std::uint64_t n = 0; n < 40; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    BOOST_REQUIRE(node.put(key_of(1'000 + n), kSlot, 0, TenantId(2)));
  }

  Restarted next(node, 1);
  BOOST_TEST(next.store.tenants.used(kTenant) == kSlot * 40);
  BOOST_TEST(next.store.tenants.used(TenantId(77)) == kSlot * 40);
  next.store.tenants.set_quota(kTenant, kSlot * 10);
  next.shards[0]->evict_over(kNow);

  BOOST_TEST(next.store.tenants.used(kTenant) == kSlot * 10);
  BOOST_TEST(next.store.tenants.used(TenantId(77)) == kSlot * 40);
  BOOST_TEST(next.store.budget.ledger.used() == kSlot * 50);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::node_store_test
