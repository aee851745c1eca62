#include "store/slot_pool.h"

#include <set>

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::slot_pool_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::kTenant;

struct PoolFixture {
  Slab& add(TenantId tenant, Bytes slot_bytes) {
    Slab& slab = *slabs.create(tenant, "a", slot_bytes).value();
    pools.add_slab(slab);
    return slab;
  }

  test::TempDir dir;
  SlabStore slabs{dir.path(), 16_MiB};  // slabs of 256 KiB
  SlotPools pools;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slot_pool, PoolFixture)

BOOST_AUTO_TEST_CASE(hands_out_each_slot_once_and_the_last_given_first) {
  add(kTenant, 64_KiB);
  std::set<SlotRef> taken;
  SlotRef slot;

  while (pools.take(kTenant, 64_KiB, &slot))
    BOOST_TEST(taken.insert(slot).second);

  BOOST_TEST(taken.size() == 4U);
  pools.give(*taken.begin());
  pools.give(slot);
  SlotRef again;
  BOOST_TEST(pools.take(kTenant, 64_KiB, &again));
  BOOST_TEST(again == slot);
}

BOOST_AUTO_TEST_CASE(keeps_tenants_and_sizes_apart) {
  add(kTenant, 64_KiB);
  SlotRef slot;

  BOOST_TEST(!pools.take(kTenant, 128_KiB, &slot));
  BOOST_TEST(!pools.take(TenantId(2), 64_KiB, &slot));
  BOOST_TEST(pools.free_count(kTenant, 64_KiB) == 4U);
  BOOST_TEST(pools.total(kTenant, 64_KiB) == 4U);
}

BOOST_AUTO_TEST_CASE(a_closed_slab_leaves_when_its_last_slot_is_back) {
  const SlabId id = add(kTenant, 64_KiB).id();
  std::vector<SlotRef> taken(2);
  BOOST_TEST(pools.take_many(kTenant, 64_KiB, taken) == 2U);

  pools.close_slab(id);

  SlotRef slot;
  BOOST_TEST(!pools.take(kTenant, 64_KiB, &slot));
  BOOST_TEST(!pools.remove_closed_slab(id));
  pools.give(taken[0]);
  BOOST_TEST(!pools.take(kTenant, 64_KiB, &slot));
  BOOST_TEST(!pools.remove_closed_slab(id));
  pools.give(taken[1]);
  BOOST_TEST(pools.remove_closed_slab(id));
  BOOST_TEST(pools.total(kTenant, 64_KiB) == 0U);
}

BOOST_AUTO_TEST_CASE(a_slab_opened_again_gives_its_slots_back) {
  const SlabId id = add(kTenant, 64_KiB).id();

  pools.close_slab(id);
  pools.reopen_slab(id);

  std::vector<SlotRef> taken(8);
  BOOST_TEST(pools.take_many(kTenant, 64_KiB, taken) == 4U);
}

BOOST_AUTO_TEST_CASE(a_forgotten_slot_does_not_keep_its_slab) {
  const SlabId id = add(kTenant, 64_KiB).id();
  SlotRef slot;
  BOOST_TEST(pools.take(kTenant, 64_KiB, &slot));

  pools.forget(slot);
  pools.close_slab(id);

  BOOST_TEST(pools.remove_closed_slab(id));
}

BOOST_AUTO_TEST_CASE(reclaims_the_emptiest_slab_of_other_pools_first) {
  const SlabId full = add(kTenant, 64_KiB).id();
  std::vector<SlotRef> taken(4);
  BOOST_TEST(pools.take_many(kTenant, 64_KiB, taken) == 4U);
  const SlabId half = add(kTenant, 64_KiB).id();
  BOOST_TEST(pools.take_many(kTenant, 64_KiB, std::span(taken).first(2)) == 2U);
  add(kTenant, 128_KiB);

  std::vector<SlabId> order;
  for (const SlotPools::SlabUse& use : pools.slabs_of_others(kTenant, 128_KiB))
    order.push_back(use.id);

  BOOST_REQUIRE(order.size() == 2U);
  BOOST_TEST(order[0] == half);
  BOOST_TEST(order[1] == full);
  BOOST_TEST(!pools.has_spare_slab(kTenant, 128_KiB));
  pools.give({full, 0});
  pools.give({full, 1});
  BOOST_TEST(pools.has_spare_slab(kTenant, 128_KiB));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::slot_pool_test
