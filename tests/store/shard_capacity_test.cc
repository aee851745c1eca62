// Capacity: exact to the slot, node-wide, between slot sizes.

#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::shard_capacity_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::kTenant;
using test::Node;

constexpr Bytes kSlot = 4_KiB;

std::uint64_t blocks_in(Node& node) {
  std::uint64_t blocks = 0;
  for (std::uint32_t i = 0; i < node.store.shards(); ++i)
    blocks += node.index(i).size() - node.index(i).ghosts();
  return blocks;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_capacity)

// 655,360,000 bytes and slots of 64 KiB, both divided by 16.
BOOST_AUTO_TEST_CASE(ten_thousand_slots_fit_exactly) {
  Node node(Bytes{40'960'000});

  for (std::uint64_t n = 0; n < 10'000; ++n)
    BOOST_REQUIRE(node.put(key_of(n), kSlot));

  BOOST_TEST(node.shards[0]->counters().evictions == 0U);
  BOOST_TEST(blocks_in(node) == 10'000U);
  const std::uint32_t reserve = node.store.pools.free_count(kTenant, kSlot);
  BOOST_TEST(reserve > 0U);
  BOOST_TEST(reserve <= 100U);
  BOOST_TEST(node.put(key_of(10'000), kSlot));
  BOOST_TEST(node.shards[0]->counters().evictions == 1U);
  BOOST_TEST(node.store.budget.ledger.used() == node.store.budget.ledger.capacity());
}

BOOST_AUTO_TEST_CASE(the_least_recent_block_leaves) {
  Node node(kSlot * 64);
  for (std::uint64_t n = 0; n < 64; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    node.store.sequence += 1;
  }
  const TouchItem touch{key_of(0), Stamp(node.store.sequence << kStampPositionBits)};
  node.shards[0]->touch({&touch, 1}, std::nullopt);

  BOOST_TEST(node.put(key_of(64), kSlot));

  BOOST_TEST(node.has(key_of(0)));
  BOOST_TEST(!node.has(key_of(1)));
}

BOOST_AUTO_TEST_CASE(nothing_leased_is_evicted_and_a_full_store_says_so) {
  Node node(kSlot * 64);
  std::vector<Hold> holds;
  for (std::uint64_t n = 0; n < 64; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    holds.push_back(node.lease(key_of(n)).value());
  }

  BOOST_TEST((node.reserve(node.item(key_of(64), kSlot)).outcome == ReserveOutcome::kNoSlot));
  node.index().release(holds[5].entry);

  BOOST_TEST(node.put(key_of(64), kSlot));
  BOOST_TEST(!node.has(key_of(5)));
  BOOST_TEST(node.store.budget.ledger.used() == kSlot * 64);
}

/// Else whoever works a call off himself, instead of the shard's actor, would keep others waiting.
BOOST_AUTO_TEST_CASE(that_many_held_blocks_are_in_the_way_is_known_for_a_while) {
  constexpr std::uint64_t kBlocks = 2'000;
  Node node(kSlot * kBlocks);
  Shard& shard = *node.shards[0];
  std::vector<Hold> held;
  for (std::uint64_t n = 0; n < kBlocks; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    node.store.sequence += 1;
  }
  for (std::uint64_t n = 0; n < kBlocks / 2; ++n)
    held.push_back(*node.lease(key_of(n)));
  BOOST_TEST(shard.reserves_quickly(kNow));

  BOOST_TEST(node.put(key_of(kBlocks), kSlot));

  BOOST_TEST(!node.has(key_of(kBlocks / 2)));
  BOOST_TEST(!shard.reserves_quickly(kNow + std::chrono::milliseconds(999)));
  BOOST_TEST(shard.reserves_quickly(kNow + std::chrono::seconds(1)));
  for (const Hold& hold : held)
    node.index().release(hold.entry);
}

BOOST_AUTO_TEST_CASE(the_shard_with_the_cheapest_victim_evicts) {
  Node node(kSlot * 64, 2);
  for (std::uint64_t n = 0; n < 64; ++n) {  // shard 0 has the older half
    BOOST_REQUIRE(node.put(key_of(n), kSlot, n < 32 ? 0 : 1));
    node.store.sequence += 1;
  }
  for (auto& shard : node.shards)
    shard->tick(kNow, 0);
  node.store.set_capacity(kSlot * 60);

  BOOST_TEST((node.shards[1]->evict_over(kNow) == ShardSet(1)));
  BOOST_TEST(node.shards[1]->counters().evictions == 0U);
  BOOST_TEST(node.shards[0]->evict_over(kNow).none());

  BOOST_TEST(node.shards[0]->counters().evictions == 4U);
  for (std::uint64_t n = 0; n < 4; ++n)
    BOOST_TEST(!node.has(key_of(n), 0));
}

BOOST_AUTO_TEST_CASE(large_blocks_take_over_memory_that_small_ones_filled) {
  constexpr Bytes kCapacity = 32_MiB;
  constexpr Bytes kLarge = 256_KiB;
  Node node(kCapacity);
  for (std::uint64_t n = 0; n < 8'192; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    node.store.sequence += 1;
  }

  for (std::uint64_t n = 10'000; n < 10'200; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kLarge));
    node.store.sequence += 1;
  }

  std::uint64_t large = 0;
  for (std::uint64_t n = 10'000; n < 10'200; ++n)
    large += node.has(key_of(n)) ? 1 : 0;
  BOOST_TEST(large > 115U);  // of the 128 that fit; a small slab or two may be left
  BOOST_TEST(node.store.budget.ledger.used() <= kCapacity);
  BOOST_TEST(node.store.slabs.total_bytes().count <= kCapacity.count + 2 * (kLarge * 3).count);
}

BOOST_AUTO_TEST_CASE(one_call_evicts_no_more_than_a_step_however_large_its_blocks) {
  constexpr std::uint64_t kStep = 1'024;
  Node node(2_MiB);
  for (std::uint64_t n = 0; n < 8'192; ++n)
    BOOST_REQUIRE(node.put(key_of(n), Bytes{256}));

  std::vector<ReserveItem> items;
  for (std::uint64_t n = 10'000; n < 10'004; ++n)
    items.push_back(node.item(key_of(n), 128_KiB));  // each takes the place of 512
  std::uint64_t evicted = 0;
  for (int call = 0; call < 8; ++call) {
    node.shards[0]->reserve(items, std::nullopt, kNow);
    const std::uint64_t now = node.shards[0]->counters().evictions;
    BOOST_TEST(now - evicted <= kStep);
    evicted = now;
    for (const ReserveItem& item : items) {
      if (item.outcome == ReserveOutcome::kNoSlot) node.provide(item, 0);
    }
    evicted = node.shards[0]->counters().evictions;
  }
  for (const ReserveItem& item : items)
    BOOST_TEST((item.outcome == ReserveOutcome::kReserved));
}

BOOST_AUTO_TEST_CASE(a_block_larger_than_capacity_is_too_large) {
  Node node(1_MiB);
  BOOST_TEST((node.reserve(node.item(key_of(1), 2_MiB)).outcome == ReserveOutcome::kTooLarge));
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_DATA_TEST_CASE(ledger_pools_and_index_agree, boost::unit_test::data::xrange(10), seed) {
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  Node node(kSlot * 100);
  std::vector<ReserveItem> filling;
  std::vector<Hold> holds;

  for (int step = 0; step < 5'000; ++step) {
    const std::uint64_t n = rng() % 300;
    const Bytes slot = n % 3 == 0 ? Bytes{16_KiB} : kSlot;
    switch (rng() % 6) {
      case 0:
      case 1:
        node.put(key_of(n), slot);
        break;
      case 2: {
        const ReserveItem item = node.reserve(node.item(key_of(n), slot));
        if (item.outcome == ReserveOutcome::kReserved) filling.push_back(item);
        break;
      }
      case 3:
        node.shards[0]->erase(key_of(n), EraseCause::kRemoved);
        break;
      case 4:
        if (const auto hold = node.lease(key_of(n)); hold && holds.size() < 20) {
          holds.push_back(*hold);
        } else if (hold) {
          node.index().release(hold->entry);
        }
        break;
      default:
        if (!filling.empty() && rng() % 2 == 0) {
          node.shards[0]->abort(filling.back().entry, filling.back().entry_generation);
          filling.pop_back();
        } else if (!holds.empty()) {
          node.index().release(holds.back().entry);
          holds.pop_back();
        }
    }
    node.store.sequence += 1;
    if (step % 50 == 0) node.shards[0]->tick(kNow, 0);
    BOOST_REQUIRE(node.store.budget.ledger.used() <= node.store.budget.ledger.capacity() + kSlot);
  }
  for (const ReserveItem& item : filling)
    node.shards[0]->abort(item.entry, item.entry_generation);
  for (const Hold& hold : holds)
    node.index().release(hold.entry);
  node.store.set_capacity(Bytes{0});
  node.shards[0]->tick(kNow, 0);
  node.shards[0]->evict_over(kNow);

  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
  BOOST_TEST(node.index().size() == node.index().ghosts());
  BOOST_TEST(node.policy->inserted.empty());
  for (const SlotPools::Usage& usage : node.store.pools.usage())
    BOOST_TEST(usage.free == usage.slots);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_capacity_test
