// The slab actor blocks on its own thread, which no scheduler can step: its desk is tested instead.

#include "actors/slab_desk.h"

#include <csignal>
#include <utility>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include "policies/lru_policy.h"
#include "tests/actors/store_fixture.h"

namespace larder::slab_desk_test {

namespace {

constexpr Bytes kOther{8192};

/// The desk over one shard that answers at once.
struct Desk : sim::StoreFixture {
  Desk() : shard(ShardId(0), *store, [](TenantId) { return std::make_unique<LruPolicy>(); }) {
    SlabDesk::Hooks hooks;
    hooks.settle = [this] {
      settled += 1;
      most_used = std::max(most_used, store->budget.ledger.used());
      shard.evict_over(sim::kStart);
    };
    hooks.evict_pool = [this](ShardId, const PoolName& pool, std::uint32_t count) {
      return shard.evict_from_pool(pool.tenant, pool.slot_bytes, count, sim::kStart);
    };
    hooks.cheapest_slabs = [this](const PoolName& pool) {
      const auto one = shard.cheapest_slab(pool.tenant, pool.slot_bytes, sim::kStart);
      return one ? std::vector<SlabVictim>{*one} : std::vector<SlabVictim>{};
    };
    hooks.evict_slab = [this](SlabId slab) {
      std::uint32_t cursor = 0;
      shard.evict_slab(slab, &cursor, 0xffffffff);
    };
    hooks.tenant_name = [](TenantId) { return "t"; };
    hooks.announce_retired = [this](SlabId slab) {
      BOOST_TEST(store->slabs.find(slab) != nullptr, "announced after it was gone");
      announced.push_back(slab);
    };
    hooks.log = [this](const std::string& line) { log.push_back(line); };
    desk = std::make_unique<SlabDesk>(*store, std::move(hooks));
  }

  /// Reserves and commits as the shard actor would, asking for slots as needed.
  std::vector<ReserveItem> put(std::uint64_t first, std::uint64_t count, Bytes length,
                               TenantId tenant = TenantId(0)) {
    auto call = reserve(first, count);
    for (ReserveItem& item : call->items) {
      store->sequence += 1;  // each newer than the one before
      item.length = item.slot_bytes = length;
      item.tenant = tenant;
      for (int tries = 0; tries < 4 && item.outcome == ReserveOutcome::kNoSlot; ++tries) {
        shard.reserve({&item, 1}, std::nullopt, sim::kStart);
        if (item.outcome != ReserveOutcome::kNoSlot) break;
        if (!desk->provide({tenant, length}, 1, sim::kStart)) break;
      }
      if (item.outcome != ReserveOutcome::kReserved) continue;
      store->slabs.seal(item.slot, 1);
      store->indexes[0]->commit(item.entry, item.entry_generation);
    }
    return call->items;
  }

  std::uint64_t there(std::uint64_t first, std::uint64_t count) {
    std::uint64_t found = 0;
    for (std::uint64_t n = first; n < first + count; ++n)
      found += state(n) == EntryState::kCommitted ? 1 : 0;
    return found;
  }
  Bytes slab_bytes(TenantId tenant) const {
    Bytes sum;
    for (const auto& usage : store->pools.usage())
      if (usage.tenant == tenant) sum = sum + usage.slot_bytes * usage.slots;
    return sum;
  }

  Shard shard;
  std::unique_ptr<SlabDesk> desk;
  int settled = 0;
  Bytes most_used;
  std::vector<SlabId> announced;
  std::vector<std::string> log;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slab_desk, Desk)

BOOST_AUTO_TEST_CASE(slabs_are_made_while_capacity_allows_and_no_more_than_one_beyond) {
  put(1, sim::kSlots + 100, sim::kSlot);
  BOOST_TEST(store->budget.ledger.used().count == (sim::kSlot * sim::kSlots).count);
  // One slab, and the reserve.
  BOOST_TEST(store->slabs.total_bytes().count <=
             (sim::kSlot * (sim::kSlots + 16 + sim::kSlots / 100)).count);
  BOOST_TEST(announced.empty());
}

BOOST_AUTO_TEST_CASE(a_slab_of_another_pool_is_emptied_announced_and_made_anew) {
  put(1, sim::kSlots, sim::kSlot);
  const auto items = put(10'000, 100, kOther);
  for (const ReserveItem& item : items)
    BOOST_TEST((item.outcome == ReserveOutcome::kReserved));
  std::uint64_t there = 0;
  for (std::uint64_t n = 10'000; n < 10'100; ++n)
    there += state(n) == EntryState::kCommitted ? 1 : 0;
  BOOST_TEST(there == 100U);
  BOOST_TEST(!announced.empty());
  for (const SlabId slab : announced)
    BOOST_TEST(store->slabs.find(slab) == nullptr);
  BOOST_TEST((store->budget.ledger.used() <= store->budget.ledger.capacity()));
}

BOOST_AUTO_TEST_CASE(room_that_is_looked_for_is_not_used_before_it_is_there) {
  put(1, sim::kSlots, sim::kSlot);
  BOOST_TEST(desk->provide({TenantId(0), kOther * 8}, 4, sim::kStart));
  BOOST_TEST(settled > 0);
  BOOST_TEST((most_used <= store->budget.ledger.capacity()));
}

BOOST_AUTO_TEST_CASE(when_all_is_held_nothing_is_provided_and_nothing_leaks) {
  const auto items = put(1, sim::kSlots, sim::kSlot);
  for (const ReserveItem& item : items)
    BOOST_REQUIRE(store->indexes[0]->lease(item.entry, item.key).has_value());
  const Bytes used = store->budget.ledger.used();

  BOOST_TEST(!desk->provide({TenantId(0), kOther}, 4, sim::kStart));
  BOOST_TEST(!desk->provide({TenantId(0), sim::kSlot}, 4, sim::kStart));

  BOOST_TEST((store->budget.ledger.used() == used));
  BOOST_TEST(announced.empty());
  for (const ReserveItem& item : items)
    store->indexes[0]->release(item.entry);
  BOOST_TEST(desk->provide({TenantId(0), kOther}, 4, sim::kStart));
}

BOOST_AUTO_TEST_CASE(a_lower_capacity_gives_memory_back_but_what_is_read) {
  const auto items = put(1, sim::kSlots, sim::kSlot);
  const Bytes before = store->slabs.total_bytes();
  const auto held = store->indexes[0]->lease(items[0].entry, items[0].key);
  BOOST_REQUIRE(held.has_value());
  desk->upkeep(sim::kStart);
  BOOST_TEST(announced.empty());

  store->set_capacity(Bytes{(sim::kSlot * sim::kSlots).count / 8});
  for (int n = 0; n < 100; ++n)
    desk->upkeep(sim::kStart);

  BOOST_TEST(store->slabs.total_bytes().count <= before.count / 4);
  BOOST_TEST((store->budget.ledger.used() <= store->budget.ledger.capacity()));
  BOOST_TEST((state(1) == EntryState::kCommitted));
  store->indexes[0]->release(held->entry);
  // And it grows again.
  store->set_capacity(sim::kSlot * sim::kSlots);
  desk->upkeep(sim::kStart);
  for (const ReserveItem& item : put(20'000, sim::kSlots / 2, sim::kSlot))
    BOOST_TEST((item.outcome == ReserveOutcome::kReserved));
}

BOOST_AUTO_TEST_CASE(a_tenant_at_its_quota_may_change_its_slot_size_and_takes_no_slab_of_others) {
  constexpr TenantId kLimited{1};
  constexpr std::uint64_t kQuotaSlots = 256;
  constexpr Bytes kLarge{16 * 4096};
  constexpr std::uint64_t kOthers = 100'000;
  store->tenants.set_quota(kLimited, sim::kSlot * kQuotaSlots);
  put(kOthers, sim::kSlots - kQuotaSlots, sim::kSlot);  // the node will be full
  for (int turn = 0; turn < 3; ++turn) {
    const std::uint64_t first = 1 + 1'000 * static_cast<std::uint64_t>(turn);
    for (const ReserveItem& item : put(first, 300, sim::kSlot, kLimited))
      BOOST_REQUIRE((item.outcome == ReserveOutcome::kReserved));
    BOOST_TEST(there(first, 300) >= kQuotaSlots * 15 / 16);
    for (const ReserveItem& item : put(first + 500, 40, kLarge, kLimited))
      BOOST_REQUIRE((item.outcome == ReserveOutcome::kReserved));
    BOOST_TEST(there(first + 500, 40) >= 15U);  // of the 16 that fit
    BOOST_TEST((slab_bytes(kLimited) <= sim::kSlot * (kQuotaSlots * 3 / 2 + 32)));
  }
  BOOST_TEST(there(kOthers, sim::kSlots - kQuotaSlots) == sim::kSlots - kQuotaSlots);
  BOOST_TEST(store->tenants.used(kLimited) <= sim::kSlot * kQuotaSlots);
}

BOOST_AUTO_TEST_CASE(slabs_of_many_sizes_have_a_bound_and_those_without_a_block_go) {
  constexpr Bytes kCapacity = sim::kSlot * sim::kSlots;
  constexpr std::uint32_t kTenants = 8;
  constexpr std::uint64_t kSizes = 40;
  const auto length = [](std::uint64_t n) { return Bytes{64 * (4 + 16 * n)}; };
  std::uint64_t next = 1;
  for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant) {
    for (std::uint64_t n = 0; n < kSizes; ++n) {
      for (const ReserveItem& item : put(next++, 1, length(n), TenantId(tenant)))
        BOOST_REQUIRE((item.outcome == ReserveOutcome::kReserved));
    }
  }
  BOOST_TEST(store->slabs.total_bytes().count <= kCapacity.count * 4 / 3);
  BOOST_TEST(there(next - 1, 1) == 1U);

  for (std::uint64_t n = 1; n < next; ++n)
    shard.erase(key(n), EraseCause::kRemoved);
  desk->upkeep(sim::kStart + std::chrono::seconds(10));
  BOOST_TEST(store->slabs.total_bytes().count <= kCapacity.count * 9 / 8);
}

BOOST_AUTO_TEST_CASE(a_quota_that_comes_late_costs_a_change_of_size_no_more_than_what_it_takes) {
  constexpr Bytes kLarge{16 * 4096};
  const TenantId tenant(0);
  put(1, sim::kSlots, sim::kSlot, tenant);
  store->tenants.set_quota(tenant, sim::kSlot * 512);
  shard.evict_over(sim::kStart);
  BOOST_TEST(there(513, 512) == 512U);  // in slabs of twice the quota

  for (const ReserveItem& item : put(10'000, 1, kLarge, tenant))
    BOOST_TEST((item.outcome == ReserveOutcome::kReserved));
  BOOST_TEST(there(513, 512) >= 512U - 2 * 16);
}

BOOST_AUTO_TEST_CASE(a_tenant_that_is_held_at_its_quota_gets_nothing_and_nothing_of_others_leaves) {
  constexpr TenantId kLimited{1};
  store->tenants.set_quota(kLimited, sim::kSlot * 64);
  put(100'000, sim::kSlots - 64, sim::kSlot);  // the node is full
  const auto items = put(1, 64, sim::kSlot, kLimited);
  for (const ReserveItem& item : items)
    BOOST_REQUIRE(store->indexes[0]->lease(item.entry, item.key).has_value());

  BOOST_TEST(!desk->provide({kLimited, sim::kSlot}, 4, sim::kStart));
  BOOST_TEST(!desk->provide({kLimited, kOther}, 4, sim::kStart));
  BOOST_TEST(!desk->provide({kLimited, sim::kSlot * 65}, 1, sim::kStart));

  BOOST_TEST(store->tenants.used(kLimited) == sim::kSlot * 64);
  BOOST_TEST(there(100'000, sim::kSlots - 64) == sim::kSlots - 64);
  for (const ReserveItem& item : items)
    store->indexes[0]->release(item.entry);
  BOOST_TEST(desk->provide({kLimited, kOther}, 4, sim::kStart));
}

BOOST_AUTO_TEST_CASE(a_slot_larger_than_the_capacity_is_refused_at_once) {
  BOOST_TEST(!desk->provide({TenantId(0), sim::kSlot * (sim::kSlots + 1)}, 1, sim::kStart));
  BOOST_TEST(settled == 0);
}

BOOST_AUTO_TEST_CASE(a_slab_that_cannot_be_made_is_told_once_and_provides_nothing) {
  std::filesystem::remove_all(dir);
  BOOST_TEST(!desk->provide({TenantId(0), sim::kSlot}, 1, sim::kStart));
  BOOST_TEST(log.size() == 1U);
}

/// There is room, yet no slab: what leaves would leave for nothing.
BOOST_AUTO_TEST_CASE(a_slab_that_the_process_may_not_make_empties_no_other) {
  put(1, sim::kSlots, sim::kSlot);
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const auto provide = [&](Time now) {
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
    const bool provided = desk->provide({TenantId(0), kOther}, 1, now);
    ::setrlimit(RLIMIT_FSIZE, &before);
    return provided;
  };
  for (int n = 0; n < 20; ++n)
    BOOST_TEST(!provide(sim::kStart + std::chrono::seconds(n)));
  std::signal(SIGXFSZ, old);

  BOOST_TEST(there(1, sim::kSlots) >= sim::kSlots - 2 * 16);
  BOOST_TEST(desk->provide({TenantId(0), kOther}, 1, sim::kStart + std::chrono::seconds(60)));
}

BOOST_AUTO_TEST_CASE(slabs_that_cannot_be_made_have_a_line_a_second_that_counts_the_others) {
  std::filesystem::remove_all(dir);
  const PoolName pool{TenantId(0), sim::kSlot};
  for (int n = 0; n < 100; ++n)
    desk->provide(pool, 1, sim::kStart + std::chrono::milliseconds(9 * n));
  BOOST_TEST(log.size() == 1U);
  BOOST_TEST(log[0].find("unlogged=0 ") != std::string::npos);

  desk->provide(pool, 1, sim::kStart + std::chrono::milliseconds(1'000));
  BOOST_REQUIRE(log.size() == 2U);
  BOOST_TEST(log[1].find("unlogged=99 ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::slab_desk_test
