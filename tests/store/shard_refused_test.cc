// What the policy did not let in is remembered.

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::test::shard_refused_test {
namespace {

constexpr Bytes kSlot{4096};
constexpr Bytes kCapacity = kSlot * 4'096;
constexpr SessionId kAlice{1};

/// A request whose blocks TestPolicy does not let in.
RequestContext refused_request(std::uint64_t number) {
  return {.request = RequestId(number),
          .now = kNow + std::chrono::seconds(10 * number),
          .priority = 2,
          .tenant = kTenant};
}

ReserveItem refuse(Node& node, const ReserveItem& asked, std::uint64_t request) {
  ReserveItem item = asked;
  const RequestContext context = refused_request(request);
  node.shards[0]->on_request(context);
  node.shards[0]->reserve({&item, 1}, context.request, context.now);
  const TouchItem touch{item.key, Stamp((request + 1) << kStampPositionBits)};
  node.shards[0]->on_request_end(context.request, 7, {&touch, 1});
  return item;
}

EntryId ghost_of(Node& node, const BlockKey& key) {
  const EntryId id = node.index().find(key);
  if (id == kNoEntry) return id;
  const EntryWord word = EntryWord::unpack(node.index().entry(id).word.load());
  return word.state == EntryState::kGhost ? id : kNoEntry;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_refused)

BOOST_AUTO_TEST_CASE(a_refused_block_is_a_ghost_with_its_uses_and_comes_in_with_them) {
  Node node(kCapacity);
  const BlockKey key = key_of(1);
  BOOST_TEST((refuse(node, node.item(key, kSlot), 1).outcome == ReserveOutcome::kRefused));
  const EntryId ghost = ghost_of(node, key);
  BOOST_REQUIRE((ghost != kNoEntry));
  BOOST_TEST(uses_of(node.index().entry(ghost)) == 1U);
  BOOST_TEST(node.policy->refused.contains(PolicyId(ghost.value())));

  refuse(node, node.item(key, kSlot), 2);

  BOOST_TEST((ghost_of(node, key) == ghost));
  BOOST_TEST(node.index().ghosts() == 1U);
  BOOST_TEST(node.policy->refused.at(PolicyId(ghost.value())).uses == 1U);
  BOOST_TEST(node.shards[0]->counters().refused == 2U);
  BOOST_TEST(node.put(key, kSlot));
  BOOST_TEST(node.policy->inserted.at(PolicyId(ghost.value())).uses == 2U);
  BOOST_TEST(node.index().ghosts() == 0U);
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_refused_block_waits_no_more) {
  Node node(kCapacity);
  Shard& shard = *node.shards[0];
  const Time later = kNow + std::chrono::hours(1);
  BOOST_TEST((shard.claim(key_of(1), kAlice, later) == ClaimOutcome::kClaimed));

  refuse(node, node.item(key_of(1), kSlot), 1);

  BOOST_TEST(shard.claims() == 0U);
  BOOST_TEST((ghost_of(node, key_of(1)) != kNoEntry));
  BOOST_TEST((shard.claim(key_of(1), SessionId(2), later) == ClaimOutcome::kClaimed));
  BOOST_TEST(shard.drop_claims(SessionId(2), 10));
  BOOST_TEST((ghost_of(node, key_of(1)) != kNoEntry));
}

BOOST_AUTO_TEST_CASE(a_refused_child_is_counted_once) {
  Node node(kCapacity);
  BOOST_TEST(node.put(key_of(1), kSlot));
  ReserveItem child = node.item(key_of(2), kSlot);
  child.parent = key_of(1).hash;
  child.position = 1;
  const auto children = [&] {
    return children_of(node.index().entry(node.index().find(key_of(1))));
  };

  refuse(node, child, 1);
  BOOST_TEST(children() == 1U);
  refuse(node, child, 2);
  BOOST_TEST(children() == 1U);
  node.fill(node.reserve(child));
  BOOST_TEST(children() == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_first_rank_of_a_refused_unit_is_remembered) {
  Node node(kCapacity);
  for (const std::uint16_t rank : {std::uint16_t{1}, std::uint16_t{0}}) {
    ReserveItem item = node.item(key_of(1), kSlot);
    item.key.rank = Rank(rank);
    item.ranks = 2;
    BOOST_TEST((refuse(node, item, 1U + rank).outcome == ReserveOutcome::kRefused));
    BOOST_TEST(node.index().ghosts() == (rank == 0 ? 1U : 0U));
  }
}

/// As many as of what was evicted, the oldest out first.
BOOST_AUTO_TEST_CASE(refused_blocks_do_not_add_up) {
  Node node(kCapacity);
  constexpr std::uint64_t kAsked = limits::kGhostsMin + 10'000;
  node.shards[0]->on_request(refused_request(1));
  for (std::uint64_t n = 0; n < kAsked; ++n) {
    ReserveItem item = node.item(key_of(n), kSlot);
    node.shards[0]->reserve({&item, 1}, RequestId(1), kNow);
  }
  BOOST_TEST(node.index().ghosts() == limits::kGhostsMin);
  BOOST_TEST((ghost_of(node, key_of(0)) == kNoEntry));
  BOOST_TEST((ghost_of(node, key_of(kAsked - 1)) != kNoEntry));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::test::shard_refused_test
