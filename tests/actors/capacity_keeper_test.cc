// The keeper and the slab desk over a real store, on a machine whose limit and whose other
// processes the test makes up.

#include "actors/capacity_keeper.h"

#include <boost/test/unit_test.hpp>

#include "actors/slab_desk.h"
#include "policies/lru_policy.h"
#include "tests/actors/store_fixture.h"

namespace larder::capacity_keeper_test {

namespace {

using namespace literals;
using std::chrono::seconds;

constexpr Bytes kCapacity = sim::kSlot * sim::kSlots;  // 4 MiB

struct Kept : sim::StoreFixture {
  Kept() : shard(ShardId(0), *store, [](TenantId) { return std::make_unique<LruPolicy>(); }) {
    keeper = std::make_unique<CapacityKeeper>(
        *store, metrics,
        CapacityKeeper::Hooks{.wanted = [this] { return wanted; },
                              .probe = [this] { return room(); },
                              .log = [this](const std::string& line) { log.push_back(line); }});
    SlabDesk::Hooks hooks;
    hooks.settle = [this] { shard.evict_over(now); };
    hooks.evict_pool = [this](ShardId, const PoolName& pool, std::uint32_t count) {
      return shard.evict_from_pool(pool.tenant, pool.slot_bytes, count, now);
    };
    hooks.cheapest_slabs = [](const PoolName&) { return std::vector<SlabVictim>{}; };
    hooks.evict_slab = [this](SlabId slab) {
      std::uint32_t cursor = 0;
      shard.evict_slab(slab, &cursor, 0xffffffff);
    };
    hooks.tenant_name = [](TenantId) { return "t"; };
    hooks.announce_retired = [](SlabId) {};
    hooks.log = [](const std::string&) {};
    hooks.may_take = [this](Bytes bytes, Time at) { return keeper->may_take(bytes, at); };
    desk = std::make_unique<SlabDesk>(*store, std::move(hooks));
  }

  /// Of a limit of 32 MiB the reserve is 4 MiB.
  MemoryRoom room() {
    probed += 1;
    return {.limit = limit, .taken = others + store->slabs.total_bytes(), .file = "limit_file"};
  }
  void turns(int count) {
    for (; count > 0; --count) {
      now += seconds(1);
      keeper->look(now);
      desk->upkeep(now);
    }
  }
  std::uint64_t put(std::uint64_t first, std::uint64_t count, Bytes length = sim::kSlot) {
    std::uint64_t stored = 0;
    auto call = reserve(first, count);
    for (ReserveItem& item : call->items) {
      store->sequence += 1;
      item.length = item.slot_bytes = length;
      for (int tries = 0; tries < 4 && item.outcome == ReserveOutcome::kNoSlot; ++tries) {
        shard.reserve({&item, 1}, std::nullopt, now);
        if (item.outcome != ReserveOutcome::kNoSlot) break;
        if (!desk->provide({TenantId(0), length}, 1, now)) break;
      }
      if (item.outcome != ReserveOutcome::kReserved) continue;
      store->slabs.seal(item.slot, 1);
      store->indexes[0]->commit(item.entry, item.entry_generation);
      stored += 1;
      BOOST_TEST_REQUIRE((room().left() >= room().reserve()));
    }
    return stored;
  }
  Bytes capacity() const { return store->budget.ledger.capacity(); }
  Bytes held() const { return store->slabs.total_bytes(); }

  NodeMetrics metrics;
  CapacityKeeper::Wanted wanted{.capacity = kCapacity};
  Bytes limit = 32_MiB;
  Bytes others = 8_MiB;
  Time now = sim::kStart;
  int probed = 0;
  std::vector<std::string> log;
  Shard shard;
  std::unique_ptr<CapacityKeeper> keeper;
  std::unique_ptr<SlabDesk> desk;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(capacity_keeper, Kept)

BOOST_AUTO_TEST_CASE(a_shortfall_gives_slabs_back_and_room_brings_the_capacity_back) {
  put(1, sim::kSlots);
  turns(3);
  BOOST_TEST(log.empty());

  others = limit - held();  // nothing is left
  turns(10);

  BOOST_TEST((capacity() < kCapacity));
  BOOST_TEST((store->budget.ledger.used() <= capacity()));
  BOOST_REQUIRE(log.size() == 1U);
  BOOST_TEST(log[0].find("reason=pressure") != std::string::npos);
  BOOST_TEST(log[0].find("limit=limit_file") != std::string::npos);
  BOOST_TEST(metrics.capacity_changes_for_pressure == 1U);

  others = 8_MiB;
  turns(60 * 20);
  BOOST_TEST((capacity() == kCapacity));
  BOOST_TEST(metrics.capacity_changes_for_room > 1U);
  BOOST_TEST(put(5'000, sim::kSlots) == sim::kSlots);
}

BOOST_AUTO_TEST_CASE(puts_go_on_below_the_limit_and_evict) {
  others = limit - 6_MiB;  // 2 MiB beside the reserve
  BOOST_TEST(put(1, 3 * sim::kSlots) == 3 * sim::kSlots);
  BOOST_TEST((held() <= 2_MiB));
  BOOST_TEST((held() >= 2_MiB - sim::kSlot * 32));
  BOOST_TEST((capacity() <= held()));
}

BOOST_AUTO_TEST_CASE(another_slot_size_gets_a_slab_in_place_of_one_when_nothing_more_fits) {
  put(1, 600);
  others = limit - 4_MiB - held();  // the reserve is left, and nothing else
  BOOST_TEST(put(10'000, 20, Bytes{8192}) == 20U);
  BOOST_TEST((room().left() >= room().reserve()));
}

BOOST_AUTO_TEST_CASE(with_no_room_at_all_a_put_finds_no_slot) {
  others = limit;
  BOOST_TEST(put(1, 10) == 0U);
  BOOST_TEST((held() == Bytes{0}));
  others = 8_MiB;
  turns(40);
  BOOST_TEST(put(20, 10) == 10U);
}

BOOST_AUTO_TEST_CASE(a_reload_is_in_force_at_the_next_turn_and_switches_the_watch_off) {
  put(1, sim::kSlots);
  wanted.capacity = 2_MiB;
  turns(1);
  BOOST_TEST((capacity() == 2_MiB));
  BOOST_TEST(log.back().find("reason=reload") != std::string::npos);
  wanted.capacity = kCapacity;
  turns(1);
  others = limit - held();
  turns(5);
  BOOST_TEST((capacity() < kCapacity));

  wanted.watch = false;
  turns(1);
  BOOST_TEST((capacity() == kCapacity));
  BOOST_TEST((store->slabs.max() == MemoryRoom::kUnlimited));
}

BOOST_AUTO_TEST_CASE(it_looks_once_a_second_and_oftener_while_memory_is_short) {
  keeper->look(now);
  const int before = probed;
  for (int n = 0; n < 40; ++n)
    keeper->look(now += std::chrono::milliseconds(100));
  BOOST_TEST(probed == before + 4);
  others = limit - 6_MiB;
  turns(1);
  const int tight = probed;
  for (int n = 0; n < 40; ++n)
    keeper->look(now += std::chrono::milliseconds(100));
  BOOST_TEST(probed >= tight + 12);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::capacity_keeper_test
