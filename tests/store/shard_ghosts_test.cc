// What stays of a block that was evicted.

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::test::shard_ghosts_test {
namespace {

constexpr Bytes kSlot{4096};
constexpr Bytes kCapacity = kSlot * 4'096;

RequestContext request_at(std::uint64_t number, Duration at) {
  RequestContext context;
  context.request = RequestId(number);
  context.now = kNow + at;
  context.tenant = kTenant;
  return context;
}

void serve(Node& node, const BlockKey& key, std::uint64_t number, Duration at) {
  node.shards[0]->on_request(request_at(number, at));
  ReserveItem item = node.item(key, kSlot);
  for (int attempt = 0; attempt < 2; ++attempt) {
    node.shards[0]->reserve({&item, 1}, RequestId(number), kNow + at);
    if (item.outcome != ReserveOutcome::kNoSlot || !node.provide(item, 0)) break;
  }
  node.fill(item);
  const std::uint64_t sequence = node.store.sequence.fetch_add(1);
  const TouchItem touch{key, Stamp(sequence << kStampPositionBits)};
  node.shards[0]->on_request_end(RequestId(number), 0, {&touch, 1});
}

void evict_all(Node& node) {
  const Bytes capacity = node.store.budget.ledger.capacity();
  node.store.set_capacity(Bytes{0});
  node.shards[0]->evict_over(kNow);
  node.store.set_capacity(capacity);
}

EntryState state_of(Node& node, const BlockKey& key) {
  const EntryId id = node.index().find(key);
  if (id == kNoEntry) return EntryState::kFree;
  return EntryWord::unpack(node.index().entry(id).word.load()).state;
}

const PolicyInsert& told_of(Node& node, const BlockKey& key) {
  return node.policy->inserted.at(PolicyId(node.index().entry(node.index().find(key)).unit));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_ghosts)

BOOST_AUTO_TEST_CASE(an_evicted_block_is_remembered_and_not_served) {
  Node node(kCapacity);
  serve(node, key_of(1), 1, std::chrono::seconds(10));
  serve(node, key_of(1), 2, std::chrono::seconds(25));

  evict_all(node);

  BOOST_TEST((state_of(node, key_of(1)) == EntryState::kGhost));
  BOOST_TEST(!node.lease(key_of(1)).has_value());
  BOOST_TEST(node.index().ghosts() == 1U);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
  const EntryId ghost = node.index().find(key_of(1));
  BOOST_TEST(uses_of(node.index().entry(ghost)) == 2U);
  BOOST_TEST((node.index().last_use(ghost) == use_tick(kNow + std::chrono::seconds(25))));
}

BOOST_AUTO_TEST_CASE(a_block_that_comes_back_brings_its_past_to_the_policy) {
  Node node(kCapacity);
  serve(node, key_of(1), 1, std::chrono::seconds(10));
  BOOST_TEST(told_of(node, key_of(1)).uses == 0U);
  evict_all(node);

  serve(node, key_of(1), 2, std::chrono::seconds(40));

  BOOST_TEST(node.has(key_of(1)));
  BOOST_TEST(told_of(node, key_of(1)).uses == 1U);
  BOOST_TEST((told_of(node, key_of(1)).idle == std::chrono::seconds(30)));
  BOOST_TEST(node.index().ghosts() == 0U);
}

BOOST_AUTO_TEST_CASE(a_request_that_only_touches_a_ghost_counts) {
  Node node(kCapacity);
  serve(node, key_of(1), 1, std::chrono::seconds(1));
  evict_all(node);
  node.shards[0]->on_request(request_at(2, std::chrono::seconds(9)));
  const TouchItem touch{key_of(1), Stamp(7ULL << kStampPositionBits)};

  node.shards[0]->on_request_end(RequestId(2), 0, {&touch, 1});

  const EntryId ghost = node.index().find(key_of(1));
  BOOST_TEST(uses_of(node.index().entry(ghost)) == 2U);
  BOOST_TEST(node.policy->inserted.empty());
}

BOOST_AUTO_TEST_CASE(a_claimed_ghost_is_a_ghost_again_when_the_claim_ends) {
  Node node(kCapacity);
  serve(node, key_of(1), 1, std::chrono::seconds(1));
  evict_all(node);
  const Time deadline = kNow + std::chrono::seconds(1);

  BOOST_TEST((node.shards[0]->claim(key_of(1), SessionId(3), deadline) == ClaimOutcome::kClaimed));
  BOOST_TEST((state_of(node, key_of(1)) == EntryState::kClaimed));
  node.shards[0]->tick(deadline, 0);

  BOOST_TEST((state_of(node, key_of(1)) == EntryState::kGhost));
  BOOST_TEST(node.index().ghosts() == 1U);
  BOOST_TEST(node.shards[0]->claims() == 0U);
}

BOOST_AUTO_TEST_CASE(another_rank_finds_the_ghost_of_its_unit) {
  Node node(kCapacity);
  const auto item = [&](std::uint16_t rank) {
    ReserveItem made = node.item(key_of(1, rank), kSlot);
    made.ranks = 2;
    return made;
  };
  for (std::uint16_t rank = 0; rank < 2; ++rank)
    BOOST_REQUIRE(node.fill(node.reserve(item(rank))));
  const TouchItem touch{key_of(1), Stamp(5ULL << kStampPositionBits)};
  node.shards[0]->touch({&touch, 1}, std::nullopt);
  evict_all(node);
  BOOST_TEST(node.index().ghosts() == 1U);

  BOOST_REQUIRE(node.fill(node.reserve(item(1))));

  BOOST_TEST(told_of(node, key_of(1, 1)).uses == 1U);
}

BOOST_AUTO_TEST_CASE(a_child_that_comes_back_is_not_counted_twice) {
  Node node(kCapacity);
  BOOST_REQUIRE(node.put(key_of(1), kSlot));
  ReserveItem child = node.item(key_of(2), kSlot);
  child.parent = key_of(1).hash;
  const Hold parent = node.lease(key_of(1)).value();
  BOOST_REQUIRE(node.fill(node.reserve(child)));
  const TouchItem touch{key_of(2), Stamp(5ULL << kStampPositionBits)};
  node.shards[0]->touch({&touch, 1}, std::nullopt);
  evict_all(node);

  BOOST_REQUIRE(node.fill(node.reserve(child)));

  BOOST_TEST(children_of(node.index().entry(parent.entry)) == 1U);
  node.index().release(parent.entry);
}

BOOST_AUTO_TEST_CASE(ghosts_are_bounded_and_the_oldest_go_first) {
  constexpr std::uint64_t kBlocks = limits::kGhostsMin + 5'000;
  Node node(Bytes{1 << 20});
  for (std::uint64_t n = 0; n < kBlocks; ++n) {
    BOOST_REQUIRE(node.put(key_of(n), kSlot));
    node.store.sequence += 1;
  }

  BOOST_TEST(node.index().ghosts() == limits::kGhostsMin);
  BOOST_TEST(node.index().size() == limits::kGhostsMin + 256);
  BOOST_TEST(node.index().find(key_of(0)) == kNoEntry);
  BOOST_TEST((state_of(node, key_of(kBlocks - 300)) == EntryState::kGhost));
}

BOOST_AUTO_TEST_CASE(a_block_comes_back_although_its_ghost_is_forgotten_to_make_room_for_it) {
  constexpr std::uint64_t kBlocks = limits::kGhostsMin + 256;
  Node node(Bytes{1 << 20});
  // Round and round, each time the one whose ghost is the oldest.
  for (std::uint64_t n = 0; n < kBlocks + 2'000; ++n) {
    const BlockKey key = key_of(n % kBlocks);
    BOOST_REQUIRE(node.put(key, kSlot));
    BOOST_REQUIRE((state_of(node, key) == EntryState::kCommitted));
    node.store.sequence += 1;
  }
  BOOST_TEST(node.index().size() - node.index().ghosts() == 256U);
  BOOST_TEST(node.store.budget.ledger.used() == Bytes{1 << 20});
}

BOOST_AUTO_TEST_CASE(a_rebuilt_shard_keeps_ghosts_and_their_bound) {
  Node node(kCapacity);
  serve(node, key_of(1), 1, std::chrono::seconds(1));
  evict_all(node);

  node.make_shard(0);
  node.shards[0]->rebuild();
  serve(node, key_of(1), 2, std::chrono::seconds(3));

  BOOST_TEST(told_of(node, key_of(1)).uses == 1U);
  BOOST_TEST(node.index().ghosts() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::test::shard_ghosts_test
