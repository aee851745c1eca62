// Quotas: what a tenant's blocks take is exact, and whoever is over gives up its own.

#include <map>
#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::test::tenant_quota_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

constexpr Bytes kSlot = 4_KiB;
constexpr TenantId kRed{1};
constexpr TenantId kBlue{2};
constexpr std::uint64_t kBlueKeys = 1'000'000;

struct Limited : Node {
  explicit Limited(std::uint64_t red_slots, std::uint32_t shard_count = 1)
      : Node(kSlot * 1'024, shard_count) {
    store.tenants.set_quota(kRed, kSlot * red_slots);
  }

  /// Each newer than the one before.
  bool put_next(std::uint64_t n, TenantId tenant, Bytes slot_bytes = kSlot) {
    store.sequence += 1;
    return put(key_of(n), slot_bytes, 0, tenant);
  }
  ReserveOutcome ask(std::uint64_t n, Bytes slot_bytes = kSlot) {
    return reserve(item(key_of(n), slot_bytes, kRed)).outcome;
  }
  std::uint64_t there(std::uint64_t first, std::uint64_t count) {
    std::uint64_t found = 0;
    for (std::uint64_t n = first; n < first + count; ++n) {
      for (std::uint32_t shard = 0; shard < shards.size(); ++shard)
        found += has(key_of(n), shard) ? 1 : 0;
    }
    return found;
  }
  Bytes used(TenantId tenant) const { return store.tenants.used(tenant); }

  /// What the ledgers should say, by a look at every entry.
  std::map<TenantId, Bytes> recount() {
    std::map<TenantId, Bytes> sums{{kRed, {}}, {kBlue, {}}};
    constexpr std::uint64_t kWithheld = ~0ULL;  // of a quarantined block: given back before
    for (std::uint32_t shard = 0; shard < shards.size(); ++shard) {
      for (std::uint32_t i = 0; i < index(shard).entry_limit(); ++i) {
        const Entry& entry = index(shard).entry(EntryId(i));
        const EntryState state = EntryWord::unpack(entry.word.load()).state;
        const std::uint64_t slot = entry.slot.load();
        if (state != EntryState::kFilling && state != EntryState::kCommitted &&
            (state != EntryState::kRemoved || slot == kWithheld)) {
          continue;
        }
        Bytes& sum = sums[TenantId(entry.tenant_tier >> 8)];
        sum = sum + store.slabs.slot_bytes(unpack_slot(slot));
      }
    }
    return sums;
  }
  void check_ledgers() {
    const auto sums = recount();
    BOOST_TEST(used(kRed) == sums.at(kRed));
    BOOST_TEST(used(kBlue) == sums.at(kBlue));
    BOOST_TEST(store.budget.ledger.used() == sums.at(kRed) + sums.at(kBlue));
  }

  /// Every shard evicts until none has to tell another.
  void settle() {
    for (bool told = true; told;) {
      told = false;
      for (auto& shard : shards)
        told = shard->evict_over(kNow).any() || told;
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant_quota)

BOOST_AUTO_TEST_CASE(every_tenant_is_counted_whatever_its_number_and_has_no_quota_at_first) {
  TenantBudgets budgets(4);
  BOOST_TEST(budgets.used(TenantId(7)).count == 0U);
  BOOST_TEST(!budgets.quota(TenantId(7)).has_value());
  BOOST_TEST(!budgets.quota(TenantId(~0U)).has_value());
  for (const std::uint32_t n : {0U, 1U, 1'023U, 1'024U, TenantBudgets::kTenantsMax - 1}) {
    Budget& budget = budgets.of(TenantId(n));
    budget.ledger.charge(Bytes{n + 1ULL});
    BOOST_TEST(&budgets.of(TenantId(n)) == &budget);
    BOOST_TEST(budgets.used(TenantId(n)).count == n + 1ULL);
    BOOST_TEST(!budgets.quota(TenantId(n)).has_value());
  }
  budgets.set_quota(TenantId(1), 0_B);
  BOOST_TEST((budgets.quota(TenantId(1)) == 0_B));
  budgets.set_quota(TenantId(1), std::nullopt);
  BOOST_TEST(!budgets.quota(TenantId(1)).has_value());
}

BOOST_AUTO_TEST_CASE(a_tenant_keeps_exactly_its_quota_and_gives_up_its_least_recent) {
  Limited node(64);
  for (std::uint64_t n = 0; n < 200; ++n) {
    BOOST_REQUIRE(node.put_next(n, kRed));
    BOOST_REQUIRE(node.used(kRed) == kSlot * std::min<std::uint64_t>(n + 1, 64));
  }

  BOOST_TEST(node.there(136, 64) == 64U);
  BOOST_TEST(node.there(0, 136) == 0U);
  BOOST_TEST(node.shards[0]->counters().evictions == 136U);
  node.check_ledgers();
}

/// 1,280 small blocks make room for a large one, and a call evicts 1,024 at most: that is not yet
/// "all is held", so the next call goes on.
BOOST_AUTO_TEST_CASE(room_that_takes_several_steps_is_made_over_calls) {
  constexpr std::uint64_t kSmall = 4'096;
  constexpr Bytes kLarge = 320_KiB;
  Limited node(256);
  for (std::uint64_t n = 0; n < kSmall; ++n)
    BOOST_REQUIRE(node.put_next(n, kRed, 256_B));
  BOOST_REQUIRE(node.used(kRed) == kSlot * 256);

  std::vector<ReserveItem> items;
  for (std::uint64_t n = 0; n < 3; ++n)
    items.push_back(node.item(key_of(kSmall + n), kLarge, kRed));
  node.shards[0]->reserve(items, std::nullopt, kNow);
  BOOST_TEST(node.shards[0]->counters().evictions == 1'024U);
  node.shards[0]->reserve(items, std::nullopt, kNow);
  BOOST_TEST(node.shards[0]->counters().evictions == kLarge.count / 256);
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(blocks_of_others_stay_while_a_tenant_floods_at_its_quota) {
  Limited node(64);
  constexpr std::uint64_t kOthers = 1'024 - 64;  // the node is full
  for (std::uint64_t n = 0; n < kOthers; ++n)
    BOOST_REQUIRE(node.put_next(kBlueKeys + n, kBlue));

  for (std::uint64_t n = 0; n < 3'000; ++n) {
    const Bytes slot_bytes = kSlot * (n % 1'000 < 500 ? 1 : 1ULL << n % 4);
    BOOST_REQUIRE(node.put_next(n, kRed, slot_bytes));
    BOOST_REQUIRE(node.used(kRed) <= kSlot * 64);
  }

  BOOST_TEST(node.there(kBlueKeys, kOthers) == kOthers);
  node.check_ledgers();
  std::uint64_t slabs_of_red = 0;
  for (const auto& usage : node.store.pools.usage()) {
    if (usage.tenant == kRed) slabs_of_red += usage.slots * usage.slot_bytes.count;
  }
  // Half the quota for the other sizes, a slab, and the reserve.
  BOOST_TEST(slabs_of_red <= (kSlot * (64 + 32 + 8 + 4)).count);
}

BOOST_AUTO_TEST_CASE(who_has_no_quota_may_fill_the_node_and_evicts_whatever_is_cheapest) {
  Limited node(64);
  for (std::uint64_t n = 0; n < 64; ++n)
    BOOST_REQUIRE(node.put_next(n, kRed));
  for (std::uint64_t n = 0; n < 2'000; ++n)
    BOOST_REQUIRE(node.put_next(kBlueKeys + n, kBlue));

  BOOST_TEST(node.there(0, 64) == 0U);  // older than all of blue's
  BOOST_TEST(node.used(kBlue) == kSlot * 1'024);
  BOOST_TEST(node.used(kRed).count == 0U);
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(when_all_of_a_tenant_is_held_there_is_no_slot_and_nothing_is_charged) {
  Limited node(64);
  std::vector<Hold> holds;
  for (std::uint64_t n = 0; n < 64; ++n) {
    BOOST_REQUIRE(node.put_next(n, kRed));
    holds.push_back(node.lease(key_of(n)).value());
  }
  for (std::uint64_t n = 0; n < 64; ++n)
    BOOST_REQUIRE(node.put_next(kBlueKeys + n, kBlue));

  BOOST_TEST((node.ask(64) == ReserveOutcome::kNoSlot));

  BOOST_TEST(node.used(kRed) == kSlot * 64);
  BOOST_TEST(node.there(kBlueKeys, 64) == 64U);
  node.check_ledgers();
  node.index().release(holds[5].entry);
  BOOST_TEST(node.put_next(64, kRed));
  BOOST_TEST(!node.has(key_of(5)));
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(what_is_larger_than_the_quota_is_refused_at_once) {
  Limited node(4);
  BOOST_REQUIRE(node.put_next(1, kRed));
  BOOST_TEST((node.ask(2, kSlot * 8) == ReserveOutcome::kTooLarge));
  BOOST_TEST(node.has(key_of(1)));
  BOOST_TEST(node.put_next(3, kRed, kSlot * 4));
  BOOST_TEST(!node.has(key_of(1)));

  node.store.tenants.set_quota(kRed, 0_B);
  BOOST_TEST((node.ask(4) == ReserveOutcome::kTooLarge));
  node.shards[0]->evict_over(kNow);
  BOOST_TEST(node.used(kRed).count == 0U);
  BOOST_TEST(node.put_next(kBlueKeys, kBlue));
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(a_lower_quota_is_met_a_higher_one_is_free_at_once_and_none_is_no_limit) {
  Limited node(64);
  node.store.tenants.set_quota(kRed, std::nullopt);  // it comes while blocks are there
  for (std::uint64_t n = 0; n < 200; ++n) {
    BOOST_REQUIRE(node.put_next(n, kRed));
    BOOST_REQUIRE(node.put_next(kBlueKeys + n, kBlue));
  }
  node.store.tenants.set_quota(kRed, kSlot * 16);
  BOOST_TEST(node.shards[0]->evict_over(kNow).none());
  BOOST_TEST(node.used(kRed) == kSlot * 16);
  BOOST_TEST(node.there(184, 16) == 16U);
  BOOST_TEST(node.there(kBlueKeys, 200) == 200U);

  node.store.tenants.set_quota(kRed, kSlot * 32);
  for (std::uint64_t n = 200; n < 216; ++n)
    BOOST_REQUIRE(node.put_next(n, kRed));
  BOOST_TEST(node.there(184, 32) == 32U);

  node.store.tenants.set_quota(kRed, std::nullopt);
  for (std::uint64_t n = 216; n < 400; ++n)
    BOOST_REQUIRE(node.put_next(n, kRed));
  BOOST_TEST(node.there(184, 216) == 216U);
  BOOST_TEST(node.there(kBlueKeys, 200) == 200U);
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(abort_erase_expiry_and_quarantine_give_back) {
  Limited node(8);
  const auto reserved = node.reserve(node.item(key_of(1), kSlot, kRed));
  BOOST_REQUIRE(node.put_next(2, kRed));
  BOOST_REQUIRE(node.put_next(3, kRed));
  ReserveItem expiring = node.item(key_of(4), kSlot, kRed);
  expiring.expiry_wall_ns = 10;
  BOOST_REQUIRE(node.fill(node.reserve(expiring)));
  const auto hold = node.lease(key_of(2));
  BOOST_TEST(node.used(kRed) == kSlot * 4);

  node.shards[0]->abort(reserved.entry, reserved.entry_generation);
  BOOST_TEST(node.used(kRed) == kSlot * 3);
  node.shards[0]->erase(key_of(2), EraseCause::kRemoved);
  BOOST_TEST(node.used(kRed) == kSlot * 3);  // its reader still has the slot
  node.index().release(hold->entry);
  node.shards[0]->tick(kNow, 0);
  BOOST_TEST(node.used(kRed) == kSlot * 2);
  node.shards[0]->quarantine(key_of(3));
  BOOST_TEST(node.used(kRed) == kSlot);
  node.shards[0]->tick(kNow, 11);
  BOOST_TEST(node.used(kRed).count == 0U);
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_made_again_goes_on_with_the_same_ledgers) {
  Limited node(8);
  for (std::uint64_t n = 0; n < 8; ++n)
    BOOST_REQUIRE(node.put_next(n, kRed));
  node.make_shard(0);
  node.shards[0]->rebuild();

  BOOST_REQUIRE(node.put_next(8, kRed));

  BOOST_TEST(node.used(kRed) == kSlot * 8);
  BOOST_TEST(node.has(key_of(8)));
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_what_a_dead_shard_had_published) {
  Limited node(8, 2);
  for (std::uint64_t n = 0; n < 8; ++n) {
    node.store.sequence += 1;
    BOOST_REQUIRE(node.put(key_of(n), kSlot, n == 0 ? 0 : 1, kRed));
  }
  node.store.tenants.of(kRed).publish(ShardId(0), 0.5);  // and dies
  node.shards[0]->erase(key_of(0), EraseCause::kRemoved);
  node.make_shard(0);
  node.shards[0]->rebuild();

  BOOST_TEST(node.put(key_of(8), kSlot, 1, kRed));
  BOOST_TEST(node.put(key_of(9), kSlot, 1, kRed));
  BOOST_TEST(node.used(kRed) == kSlot * 8);
  BOOST_TEST(!node.has(key_of(1), 1));
}

BOOST_AUTO_TEST_CASE(the_shard_with_the_tenants_cheapest_is_told_not_the_one_with_the_nodes) {
  Limited node(64, 3);
  for (std::uint64_t n = 0; n < 4; ++n)  // the node's cheapest
    BOOST_REQUIRE(node.put(key_of(kBlueKeys + n), kSlot, 2, kBlue));
  for (std::uint64_t n = 0; n < 64; ++n) {  // shard 0 has the older half
    node.store.sequence += 1;
    BOOST_REQUIRE(node.put(key_of(n), kSlot, n < 32 ? 0 : 1, kRed));
  }
  node.store.tenants.set_quota(kRed, kSlot * 60);

  BOOST_TEST((node.shards[1]->evict_over(kNow) == ShardSet(0b001)));
  BOOST_TEST(node.shards[2]->evict_over(kNow).none());
  BOOST_TEST(node.shards[0]->evict_over(kNow).none());

  BOOST_TEST(node.shards[0]->counters().evictions == 4U);
  BOOST_TEST(node.shards[1]->counters().evictions == 0U);
  BOOST_TEST(node.there(kBlueKeys, 4) == 4U);
  node.check_ledgers();
}

BOOST_AUTO_TEST_CASE(four_shards_keep_what_one_keeps_once_all_is_settled) {
  Limited node(400, 4);
  std::mt19937_64 rng(1);
  for (std::uint64_t n = 0; n < 3'000; ++n) {
    node.store.sequence += 1;
    BOOST_REQUIRE(node.put(key_of(n), kSlot, static_cast<std::uint32_t>(rng() % 4), kRed));
    BOOST_REQUIRE(node.used(kRed) <= kSlot * 404);
    node.settle();
    BOOST_REQUIRE(node.used(kRed) <= kSlot * 400);
  }
  BOOST_TEST(node.there(2'600, 400) == 400U);
  node.check_ledgers();
}

BOOST_DATA_TEST_CASE(four_shards_stay_within_the_reserve_while_messages_are_under_way,
                     boost::unit_test::data::xrange(4), seed) {
  Limited node(400, 4);
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  for (std::uint64_t n = 0; n < 300; ++n)
    BOOST_REQUIRE(node.put(key_of(kBlueKeys + n), kSlot, static_cast<std::uint32_t>(n % 4), kBlue));
  for (std::uint64_t n = 0; n < 3'000; ++n) {
    const auto shard = static_cast<std::uint32_t>(rng() % 4);
    node.store.sequence += 1;
    if (!node.put(key_of(n), kSlot, shard, kRed)) {
      node.settle();  // as the slab desk has them do
      BOOST_REQUIRE(node.put(key_of(n), kSlot, shard, kRed));
    }
    BOOST_REQUIRE(node.used(kRed) <= kSlot * 404);
    if (rng() % 3 == 0) node.shards[rng() % 4]->evict_over(kNow);
  }
  node.settle();
  BOOST_TEST(node.used(kRed) <= kSlot * 400);
  BOOST_TEST(node.used(kRed) >= kSlot * 396);
  BOOST_TEST(node.there(kBlueKeys, 300) == 300U);
  node.check_ledgers();
}

BOOST_DATA_TEST_CASE(ledgers_agree_with_a_recount, boost::unit_test::data::xrange(10), seed) {
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  Limited node(100);
  std::vector<ReserveItem> filling;
  std::vector<Hold> holds;
  for (int step = 0; step < 4'000; ++step) {
    const std::uint64_t n = rng() % 1'500;
    const TenantId tenant = n % 2 == 0 ? kRed : kBlue;
    const Bytes slot = n % 3 == 0 ? kSlot * 4 : kSlot;
    node.store.sequence += 1;
    switch (rng() % 8) {
      case 0:
      case 1:
      case 2:
        node.put(key_of(n), slot, 0, tenant);
        break;
      case 3: {
        const ReserveItem item = node.reserve(node.item(key_of(n), slot, tenant));
        if (item.outcome == ReserveOutcome::kReserved) filling.push_back(item);
        break;
      }
      case 4:
        if (rng() % 20 == 0) {
          node.shards[0]->quarantine(key_of(n));
        } else {
          node.shards[0]->erase(key_of(n), EraseCause::kRemoved);
        }
        break;
      case 5:
        if (const auto hold = node.lease(key_of(n))) holds.push_back(*hold);
        break;
      case 6:
        if (rng() % 100 == 0) node.store.tenants.set_quota(kRed, kSlot * (rng() % 200));
        if (rng() % 100 == 0) node.store.set_capacity(kSlot * (500 + rng() % 600));
        break;
      default:
        if (filling.size() > 10 || (!filling.empty() && rng() % 2 == 0)) {
          node.shards[0]->abort(filling.back().entry, filling.back().entry_generation);
          filling.pop_back();
        } else if (!holds.empty()) {
          node.index().release(holds.back().entry);
          holds.pop_back();
        }
    }
    if (step % 20 == 0) node.shards[0]->tick(kNow, 0);
    if (step % 20 == 0) node.shards[0]->evict_over(kNow);
    if (step % 100 == 0) node.check_ledgers();
  }
  for (const ReserveItem& item : filling)
    node.shards[0]->abort(item.entry, item.entry_generation);
  for (const Hold& hold : holds)
    node.index().release(hold.entry);
  node.store.tenants.set_quota(kRed, 0_B);
  node.shards[0]->evict_over(kNow);
  node.shards[0]->tick(kNow, 0);
  BOOST_TEST(node.used(kRed).count == 0U);
  node.check_ledgers();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::test::tenant_quota_test
