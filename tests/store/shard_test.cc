#include "store/shard.h"

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::shard_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::kTenant;
using test::Node;

constexpr Bytes kSlot = 64_KiB;
constexpr SessionId kAlice{1};
constexpr SessionId kBob{2};
constexpr Time kLater = kNow + std::chrono::seconds(5);

}  // namespace

BOOST_AUTO_TEST_SUITE(shard)

BOOST_AUTO_TEST_CASE(a_put_is_visible_after_its_commit_only) {
  Node node(16_MiB);
  const ReserveItem item = node.reserve(node.item(key_of(1), kSlot));

  BOOST_TEST((item.outcome == ReserveOutcome::kReserved));
  BOOST_TEST(!node.lease(key_of(1)));
  BOOST_TEST(node.fill(item));

  const auto hold = node.lease(key_of(1));
  BOOST_REQUIRE(hold.has_value());
  BOOST_TEST(hold->slot == item.slot);
  BOOST_TEST(hold->length == kSlot);
  BOOST_TEST((inspect(*node.store.slabs.header(item.slot), kSlot) == SlotCondition::kCommitted));
}

BOOST_AUTO_TEST_CASE(the_first_reservation_wins) {
  Node node(16_MiB);
  const ReserveItem first = node.reserve(node.item(key_of(1), kSlot));
  ReserveItem longer = node.item(key_of(1), kSlot);
  longer.length = 100_B;

  BOOST_TEST((node.reserve(node.item(key_of(1), kSlot)).outcome == ReserveOutcome::kInFlight));
  node.fill(first);

  BOOST_TEST((node.reserve(node.item(key_of(1), kSlot)).outcome == ReserveOutcome::kPresent));
  BOOST_TEST((node.reserve(longer).outcome == ReserveOutcome::kSizeMismatch));
  BOOST_TEST(node.store.budget.ledger.used() == kSlot);
}

BOOST_AUTO_TEST_CASE(an_abort_takes_back_all_of_a_reservation) {
  Node node(16_MiB);
  const ReserveItem item = node.reserve(node.item(key_of(1), kSlot));
  const std::uint32_t free = node.store.pools.free_count(kTenant, kSlot);

  node.shards[0]->abort(item.entry, item.entry_generation);

  BOOST_TEST(node.index().find(key_of(1)) == kNoEntry);
  BOOST_TEST(!node.index().commit(item.entry, item.entry_generation));
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
  BOOST_TEST(node.store.pools.free_count(kTenant, kSlot) == free + 1);
  BOOST_TEST(node.policy->inserted.empty());
  node.shards[0]->abort(item.entry, item.entry_generation);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_CASE(an_abort_after_the_commit_changes_nothing) {
  Node node(16_MiB);
  const ReserveItem item = node.reserve(node.item(key_of(1), kSlot));
  node.fill(item);

  node.shards[0]->abort(item.entry, item.entry_generation);

  BOOST_TEST(node.has(key_of(1)));
}

BOOST_AUTO_TEST_CASE(a_claim_is_pending_to_others_until_dropped_or_expired) {
  Node node(16_MiB);
  Shard& shard = *node.shards[0];

  BOOST_TEST((shard.claim(key_of(1), kAlice, kLater) == ClaimOutcome::kClaimed));
  BOOST_TEST((shard.claim(key_of(1), kAlice, kLater) == ClaimOutcome::kClaimed));
  BOOST_TEST((shard.claim(key_of(1), kBob, kLater) == ClaimOutcome::kPending));
  BOOST_TEST(!node.lease(key_of(1)));
  BOOST_TEST(shard.claims() == 1U);

  BOOST_TEST(shard.drop_claims(kAlice, 100));
  BOOST_TEST((shard.claim(key_of(1), kBob, kLater) == ClaimOutcome::kClaimed));
  shard.tick(kLater - std::chrono::nanoseconds(1), 0);
  BOOST_TEST(node.index().find(key_of(1)) != kNoEntry);
  shard.tick(kLater, 0);
  BOOST_TEST(node.index().find(key_of(1)) == kNoEntry);
}

BOOST_AUTO_TEST_CASE(a_reservation_takes_the_claim_over) {
  Node node(16_MiB);
  Shard& shard = *node.shards[0];
  shard.claim(key_of(1), kAlice, kLater);

  BOOST_TEST(node.put(key_of(1), kSlot));

  BOOST_TEST(shard.claims() == 0U);
  shard.tick(kLater, 0);
  BOOST_TEST(shard.drop_claims(kAlice, 100));
  BOOST_TEST(node.has(key_of(1)));
  BOOST_TEST((shard.claim(key_of(1), kBob, kLater) == ClaimOutcome::kPresent));
}

BOOST_AUTO_TEST_CASE(an_erased_block_is_a_miss_at_once_and_its_slot_waits_for_the_lease) {
  Node node(16_MiB);
  node.put(key_of(1), kSlot);
  const Hold hold = node.lease(key_of(1)).value();
  const std::uint32_t free = node.store.pools.free_count(kTenant, kSlot);

  BOOST_TEST(node.shards[0]->erase(key_of(1), EraseCause::kRemoved));

  BOOST_TEST(!node.lease(key_of(1)));
  BOOST_TEST(!node.shards[0]->erase(key_of(1), EraseCause::kRemoved));
  BOOST_TEST(node.store.slabs.header(hold.slot)->committed.load() == 0U);
  node.shards[0]->tick(kNow, 0);
  BOOST_TEST(node.store.pools.free_count(kTenant, kSlot) == free);
  node.index().release(hold.entry);
  node.shards[0]->tick(kNow, 0);
  BOOST_TEST(node.store.pools.free_count(kTenant, kSlot) == free + 1);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_CASE(a_quarantined_slot_is_never_handed_out_again) {
  Node node(16_MiB);
  node.put(key_of(1), kSlot);
  const std::uint64_t total = node.store.pools.total(kTenant, kSlot);
  const SlotRef bad = node.lease(key_of(1))->slot;
  node.index().release(node.index().find(key_of(1)));

  node.shards[0]->quarantine(key_of(1));
  node.shards[0]->tick(kNow, 0);

  BOOST_TEST(!node.lease(key_of(1)));
  BOOST_TEST(node.store.pools.total(kTenant, kSlot) == total - 1);
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
  SlotRef slot;
  while (node.store.pools.take(kTenant, kSlot, &slot))
    BOOST_TEST(slot != bad);
  BOOST_TEST(node.shards[0]->counters().quarantined == 1U);
}

BOOST_AUTO_TEST_CASE(blocks_expire_by_wall_time) {
  Node node(16_MiB);
  ReserveItem item = node.item(key_of(1), kSlot);
  item.expiry_wall_ns = 1000;
  node.fill(node.reserve(item));
  node.put(key_of(2), kSlot);

  node.shards[0]->tick(kNow, 999);
  BOOST_TEST(node.has(key_of(1)));
  node.shards[0]->tick(kNow, 1000);

  BOOST_TEST(!node.has(key_of(1)));
  BOOST_TEST(node.has(key_of(2)));
  BOOST_TEST(node.shards[0]->counters().expirations == 1U);
}

BOOST_AUTO_TEST_CASE(what_expired_gives_way_before_the_scan_comes_by) {
  Node node(64_MiB);
  Shard& shard = *node.shards[0];
  for (std::uint64_t n = 0; n < 600; ++n)  // the scan looks at 1,024 entries a tick
    node.put(key_of(1'000 + n), 4_KiB);
  for (const std::uint64_t n : {1ULL, 2ULL}) {
    ReserveItem item = node.item(key_of(n), 4_KiB);
    item.expiry_wall_ns = 1000;
    node.fill(node.reserve(item));
  }
  for (std::uint64_t n = 0; n < 600; ++n)
    node.put(key_of(2'000 + n), 4_KiB);
  shard.tick(kNow, 10);  // the next scan begins behind both
  shard.tick(kNow, 1000);
  BOOST_REQUIRE((node.has(key_of(1)) && node.has(key_of(2))));

  const ReserveItem again = node.reserve(node.item(key_of(1), 4_KiB));
  BOOST_TEST((again.outcome == ReserveOutcome::kReserved));
  BOOST_TEST((shard.claim(key_of(2), kAlice, kLater) == ClaimOutcome::kClaimed));
}

BOOST_AUTO_TEST_CASE(admission_refuses_with_the_context_of_the_request) {
  Node node(16_MiB);
  Shard& shard = *node.shards[0];
  shard.on_request({.request = RequestId(5), .now = kNow, .priority = 2, .tenant = kTenant});
  ReserveItem item = node.item(key_of(1), kSlot);

  shard.reserve({&item, 1}, RequestId(5), kNow);
  BOOST_TEST((item.outcome == ReserveOutcome::kRefused));
  shard.on_request_end(RequestId(5), 0, {});

  item.outcome = ReserveOutcome::kNoSlot;
  shard.reserve({&item, 1}, RequestId(5), kNow);
  BOOST_TEST((item.outcome == ReserveOutcome::kNoSlot));  // only a slab is missing
  BOOST_TEST(node.put(key_of(1), kSlot));
}

BOOST_AUTO_TEST_CASE(scan_shows_each_committed_block_once) {
  Node node(16_MiB);
  for (std::uint64_t n = 0; n < 50; ++n)
    node.put(key_of(n), kSlot);
  node.reserve(node.item(key_of(50), kSlot));
  node.shards[0]->erase(key_of(7), EraseCause::kRemoved);

  std::vector<int> seen(51);
  std::uint32_t cursor = 0;
  do {
    cursor = node.shards[0]->scan(
        cursor, 7, [&](EntryId /*id*/, const Entry& /*entry*/, const SlotHeader& header) {
          seen[~header.hash_low] += 1;
        });
  } while (cursor != 0);

  for (std::size_t n = 0; n < seen.size(); ++n)
    BOOST_TEST(seen[n] == (n == 7 || n == 50 ? 0 : 1), "block " << n);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_test
