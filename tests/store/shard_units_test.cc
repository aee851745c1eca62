// Units over ranks, children, and what a rebuilt shard knows.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::shard_units_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::kTenant;
using test::Node;

constexpr Bytes kSlot = 64_KiB;
constexpr std::uint16_t kRanks = 3;

/// Block `n` of a chain on `rank`; its parent is n - 1, and 0 is the root.
ReserveItem chained(Node& node, std::uint64_t n, std::uint16_t rank) {
  ReserveItem item = node.item(key_of(n, rank), kSlot);
  item.ranks = kRanks;
  item.position = static_cast<std::uint32_t>(n);
  if (n > 0) item.parent = key_of(n - 1).hash;
  return item;
}

void put_chain(Node& node, std::uint64_t blocks) {
  for (std::uint64_t n = 0; n < blocks; ++n) {
    for (std::uint16_t rank = 0; rank < kRanks; ++rank)
      BOOST_REQUIRE(node.fill(node.reserve(chained(node, n, rank))));
  }
}

std::uint32_t children_of(Node& node, const BlockKey& key) {
  return larder::children_of(node.index().entry(node.index().find(key)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_units)

BOOST_AUTO_TEST_CASE(the_policy_hears_of_a_position_once_with_the_size_of_all_ranks) {
  Node node(16_MiB);

  put_chain(node, 2);

  BOOST_REQUIRE(node.policy->inserted.size() == 2U);
  const PolicyId root(node.index().entry(node.index().find(key_of(0))).unit);
  const PolicyId child(node.index().entry(node.index().find(key_of(1, 2))).unit);
  BOOST_TEST(node.policy->inserted[root].size == kSlot * kRanks);
  BOOST_TEST(!node.policy->inserted[root].parent.has_value());
  BOOST_REQUIRE(node.policy->inserted[child].parent.has_value());
  BOOST_TEST(*node.policy->inserted[child].parent == root);
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    BOOST_TEST(children_of(node, key_of(0, rank)) == 1U);
    BOOST_TEST(children_of(node, key_of(1, rank)) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_unit_is_evicted_whole) {
  Node node(16_MiB);
  put_chain(node, 2);
  node.store.set_capacity(kSlot * 5);

  node.shards[0]->evict_over(kNow);

  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    BOOST_TEST(node.has(key_of(0, rank)));
    BOOST_TEST(!node.has(key_of(1, rank)));
    // The leader's ghost still is a child.
    BOOST_TEST(children_of(node, key_of(0, rank)) == (rank == 0 ? 1U : 0U));
  }
  BOOST_TEST(node.store.budget.ledger.used() == kSlot * kRanks);
  BOOST_TEST(node.policy->inserted.size() == 1U);
}

BOOST_AUTO_TEST_CASE(one_leased_rank_keeps_its_unit) {
  Node node(16_MiB);
  put_chain(node, 2);
  const Hold hold = node.lease(key_of(1, 1)).value();
  node.store.set_capacity(kSlot * 5);

  node.shards[0]->evict_over(kNow);

  BOOST_TEST(node.has(key_of(1, 0)));
  BOOST_TEST(node.has(key_of(1, 1)));
  BOOST_TEST(!node.has(key_of(0, 0)));
  node.index().release(hold.entry);
}

BOOST_DATA_TEST_CASE(what_is_left_of_a_unit_goes_first, boost::unit_test::data::xrange(3), rank) {
  Node node(16_MiB);
  put_chain(node, 3);

  node.shards[0]->erase(key_of(0, static_cast<std::uint16_t>(rank)), EraseCause::kRemoved);
  BOOST_TEST(node.policy->inserted.size() == 3U);
  const PolicyId unit(node.index().entry(node.index().find(key_of(0, rank == 0 ? 1 : 0))).unit);
  BOOST_TEST(node.policy->inserted.contains(unit));
  node.store.set_capacity(kSlot);
  node.shards[0]->evict_over(kNow);

  for (std::uint64_t n = 0; n < 3; ++n) {
    for (std::uint16_t r = 0; r < kRanks; ++r)
      BOOST_TEST(!node.has(key_of(n, r)));
  }
  BOOST_TEST(node.policy->inserted.empty());
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_CASE(a_touch_counts_once_a_unit) {
  Node node(16_MiB);
  put_chain(node, 2);
  std::vector<TouchItem> touches;
  for (std::uint64_t n = 2; n-- > 0;) {
    for (std::uint16_t rank = 0; rank < kRanks; ++rank)
      touches.push_back({key_of(n, rank), Stamp(100)});
  }

  node.shards[0]->touch(touches, std::nullopt);

  BOOST_TEST(node.policy->hits == 2);
}

BOOST_AUTO_TEST_CASE(a_rebuilt_shard_knows_blocks_reservations_claims_and_removals) {
  Node node(16_MiB);
  put_chain(node, 3);
  const ReserveItem filling = node.reserve(chained(node, 3, 0));
  const Time deadline = kNow + std::chrono::seconds(1);
  node.shards[0]->claim(key_of(9), SessionId(4), deadline);
  const Hold hold = node.lease(key_of(1, 1)).value();
  node.shards[0]->erase(key_of(1, 1), EraseCause::kRemoved);
  const Bytes used = node.store.budget.ledger.used();

  node.make_shard(0);
  node.shards[0]->rebuild();

  BOOST_TEST(node.policy->inserted.size() == 4U);
  BOOST_TEST(children_of(node, key_of(0)) == 1U);
  BOOST_TEST(children_of(node, key_of(2)) == 1U);
  BOOST_TEST(node.store.budget.ledger.used() == used);
  BOOST_TEST(node.fill(filling));
  BOOST_TEST((node.shards[0]->claim(key_of(9), SessionId(5), deadline) == ClaimOutcome::kPending));
  node.shards[0]->tick(deadline, 0);
  BOOST_TEST(node.index().find(key_of(9)) == kNoEntry);
  node.index().release(hold.entry);
  node.shards[0]->tick(deadline, 0);
  BOOST_TEST(node.store.budget.ledger.used() == used - kSlot);
  node.store.set_capacity(Bytes{0});
  node.shards[0]->evict_over(kNow);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
  BOOST_TEST(node.index().size() == node.index().ghosts());
}

BOOST_AUTO_TEST_CASE(window_and_state_blocks_of_a_boundary_are_one_unit) {
  Node node(16_MiB);
  NamespaceSpec spec;
  spec.groups = {{.kind = GroupKind::kFull, .block_tokens = 16, .block_bytes = kSlot},
                 {.kind = GroupKind::kWindow, .block_tokens = 16, .block_bytes = kSlot},
                 {.kind = GroupKind::kState, .block_tokens = 64, .block_bytes = kSlot * 4}};
  node.store.unit_shapes.set(key_of(0).ns, unit_shape(spec));
  const auto put = [&](std::uint64_t n, std::uint16_t group) {
    for (std::uint16_t rank = 0; rank < 2; ++rank) {
      ReserveItem item = node.item(key_of(n, rank, group), group == 2 ? kSlot * 4 : kSlot);
      item.ranks = 2;
      BOOST_REQUIRE(node.fill(node.reserve(item)));
    }
  };
  put(1, 0);
  put(1, 1);
  put(1, 2);
  put(2, 1);

  const auto unit = [&](std::uint64_t n, std::uint16_t group) {
    return node.index().entry(node.index().find(key_of(n, 1, group))).unit;
  };
  BOOST_TEST(unit(1, 1) == unit(1, 2));
  BOOST_TEST(unit(1, 0) != unit(1, 1));
  BOOST_TEST(unit(2, 1) != unit(1, 1));
  BOOST_TEST(node.policy->inserted[PolicyId(unit(1, 1))].size == kSlot * 5 * 2);
  BOOST_TEST(node.policy->inserted[PolicyId(unit(1, 0))].size == kSlot * 2);

  const Hold held = node.lease(key_of(1, 0, 2)).value();
  node.store.set_capacity(Bytes{0});
  node.shards[0]->evict_over(kNow);
  BOOST_TEST(node.has(key_of(1, 1, 1)));  // its state block is being read
  BOOST_TEST(!node.has(key_of(2, 0, 1)));
  BOOST_TEST(!node.has(key_of(1, 0, 0)));
  node.index().release(held.entry);
  node.shards[0]->evict_over(kNow);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_units_test
