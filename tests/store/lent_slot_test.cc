#include "store/lent_slot.h"

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::lent_slot_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
namespace t = test;

constexpr Bytes kSlot = 64_KiB;

struct Fixture {
  Fixture() { BOOST_REQUIRE(node.put(t::key_of(1), kSlot)); }
  std::shared_ptr<LentSlot> lend() {
    return LentSlot::lend(node.store.pools, node.store.slabs, t::kTenant, kSlot);
  }
  std::uint32_t free() { return node.store.pools.free_count(t::kTenant, kSlot); }
  std::uint64_t generation(const SlotRef& slot) {
    return node.store.slabs.header(slot)->generation.load();
  }
  t::Node node{16_MiB};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lent_slot, Fixture)

BOOST_AUTO_TEST_CASE(an_entry_takes_the_slot_that_was_lent_and_raises_its_generation_once) {
  const std::uint32_t before = free();
  auto lent = lend();
  BOOST_REQUIRE(lent);
  const SlotRef slot = lent->slot();
  const std::uint64_t raised = generation(slot);
  ReserveItem item = node.item(t::key_of(2), kSlot);
  item.lent = std::move(lent);
  item = node.reserve(std::move(item));
  BOOST_TEST(item.slot == slot);
  BOOST_TEST(generation(slot) == raised);
  item.lent = nullptr;
  BOOST_TEST(free() == before - 1);
  BOOST_TEST(node.fill(item));
  BOOST_TEST(node.lease(t::key_of(2))->slot == slot);
}

BOOST_AUTO_TEST_CASE(without_an_entry_it_is_free_again_when_both_let_go) {
  const std::uint32_t before = free();
  auto lent = lend();
  ReserveItem item = node.item(t::key_of(1), kSlot);
  item.lent = lent;
  item = node.reserve(std::move(item));
  BOOST_TEST((item.outcome == ReserveOutcome::kPresent));
  item.lent = nullptr;
  BOOST_TEST(free() == before - 1);
  lent = nullptr;
  BOOST_TEST(free() == before);
}

BOOST_AUTO_TEST_CASE(a_slab_does_not_leave_before_it_is_back) {
  auto lent = lend();
  const SlabId slab = lent->slot().slab;
  node.store.pools.close_slab(slab);
  std::uint32_t cursor = 0;
  node.shards[0]->evict_slab(slab, &cursor, 0xffffffff);
  BOOST_TEST(!node.store.pools.remove_closed_slab(slab));
  lent = nullptr;
  BOOST_TEST(node.store.pools.remove_closed_slab(slab));
}

BOOST_AUTO_TEST_CASE(nothing_is_lent_where_nothing_is_free) {
  std::vector<std::shared_ptr<LentSlot>> all;
  while (auto lent = lend())
    all.push_back(std::move(lent));
  BOOST_TEST(free() == 0U);
  BOOST_TEST(!LentSlot::lend(node.store.pools, node.store.slabs, t::kTenant, 128_KiB));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::lent_slot_test
