#include "actors/shard_desk.h"

#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "actors/inbox.h"
#include "policies/lru_policy.h"
#include "store/node_store.h"
#include "tests/temp_dir.h"

namespace larder::shard_desk_test {

namespace {

const Time kStart = Time(std::chrono::hours(1));

/// One shard on an empty store, its slab actor played by the test.
struct Desk {
  Desk() {
    store = std::make_unique<NodeStore>(
        NodeStore::Options{.runtime_dir = temp.path(), .capacity = Bytes{64 * 4096}, .shards = 1});
    BOOST_REQUIRE(store->open([](const std::string&) { return TenantId(0); }).ok());
    ShardDesk::Hooks hooks;
    hooks.need_slots = [this](const PoolName& pool, std::uint32_t count) {
      asked.push_back(count);
      last = pool;
    };
    hooks.poke = [](ShardId) {};
    desk = std::make_unique<ShardDesk>(
        std::make_unique<Shard>(ShardId(0), *store,
                                [](TenantId) { return std::make_unique<LruPolicy>(); }),
        std::move(hooks));
  }
  ~Desk() {
    desk.reset();
    store.reset();
  }

  std::shared_ptr<ReserveCall> call(std::uint64_t first, int count) {
    auto made = std::make_shared<ReserveCall>();
    for (int i = 0; i < count; ++i) {
      ReserveItem item;
      item.key = {NamespaceId(1), {first + static_cast<std::uint64_t>(i), 3}, GroupId(0), Rank(0)};
      item.tenant = TenantId(0);
      item.length = Bytes{4096};
      item.slot_bytes = Bytes{4096};
      made->items.push_back(item);
    }
    made->deadline = kStart + std::chrono::seconds(1);
    made->reply_to = &inbox;
    return made;
  }
  void make_slab() {
    auto slab = store->slabs.create(TenantId(0), "t", Bytes{4096});
    BOOST_REQUIRE(slab.ok());
    store->pools.add_slab(**slab);
  }

  test::TempDir temp{test::kShm};
  Inbox inbox;
  std::unique_ptr<NodeStore> store;
  std::vector<std::uint32_t> asked;
  PoolName last;
  std::unique_ptr<ShardDesk> desk;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_desk)

BOOST_AUTO_TEST_CASE(a_call_without_slots_waits_for_the_refill) {
  Desk d;
  const auto call = d.call(1, 1);
  d.desk->reserve(call, kStart);
  BOOST_TEST(!call->answered);
  BOOST_TEST(d.asked == std::vector<std::uint32_t>{1});

  d.make_slab();
  d.desk->refilled(d.last, true, kStart);

  BOOST_TEST(call->answered);
  BOOST_TEST((call->items[0].outcome == ReserveOutcome::kReserved));
}

BOOST_AUTO_TEST_CASE(a_pool_is_asked_for_once) {
  Desk d;
  const auto first = d.call(1, 3);
  const auto second = d.call(10, 2);
  d.desk->reserve(first, kStart);
  d.desk->reserve(second, kStart);
  BOOST_TEST(d.asked == std::vector<std::uint32_t>{3});
  BOOST_TEST(d.desk->parked() == 2U);
}

BOOST_AUTO_TEST_CASE(a_refill_that_fails_again_and_again_is_answered_no_slot) {
  Desk d;
  const auto call = d.call(1, 2);
  d.desk->reserve(call, kStart);
  for (std::uint32_t n = 1; n < ShardDesk::kRefusalsMax; ++n) {
    d.desk->refilled(d.last, false, kStart);
    BOOST_TEST(!call->answered);
    BOOST_TEST(d.asked.size() == n);
    d.desk->tick(kStart, 0);  // asks again
    BOOST_TEST(d.asked.size() == n + 1);
  }
  d.desk->refilled(d.last, false, kStart);
  BOOST_TEST(call->answered);
  BOOST_TEST((call->items[0].outcome == ReserveOutcome::kNoSlot));
}

BOOST_AUTO_TEST_CASE(a_parked_call_ends_at_its_deadline) {
  Desk d;
  const auto call = d.call(1, 1);
  d.desk->reserve(call, kStart);
  d.desk->tick(kStart + std::chrono::milliseconds(999), 0);
  BOOST_TEST(!call->answered);
  d.desk->tick(kStart + std::chrono::seconds(1), 0);
  BOOST_TEST(call->answered);
}

BOOST_AUTO_TEST_CASE(a_parked_call_that_nobody_wants_any_more_ends_at_the_next_tick) {
  Desk d;
  const auto call = d.call(1, 1);
  call->given_up = std::make_shared<std::atomic<bool>>(false);
  d.desk->reserve(call, kStart);
  d.desk->tick(kStart, 0);
  BOOST_TEST(!call->answered);

  *call->given_up = true;
  d.desk->tick(kStart, 0);

  BOOST_TEST(call->answered);
  BOOST_TEST(d.desk->parked() == 0U);
}

BOOST_AUTO_TEST_CASE(a_call_that_was_given_up_reserves_nothing) {
  Desk d;
  d.make_slab();
  const auto call = d.call(1, 1);
  call->given_up = std::make_shared<std::atomic<bool>>(true);

  d.desk->reserve(call, kStart);

  BOOST_TEST(call->answered);
  BOOST_TEST(d.store->budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_CASE(a_dying_desk_answers_what_is_parked) {
  Desk d;
  const auto call = d.call(1, 1);
  d.desk->reserve(call, kStart);
  d.desk.reset();
  BOOST_TEST(call->answered);
}

BOOST_AUTO_TEST_CASE(a_call_dropped_unanswered_is_answered_as_lost) {
  Inbox inbox;
  {
    auto call = std::make_shared<ReserveCall>();
    call->reply_to = &inbox;
    call->op = 42;
  }
  auto items = inbox.take();
  BOOST_REQUIRE(items.size() == 1U);
  const auto& lost = std::get<std::shared_ptr<ShardCall>>(items[0]);
  BOOST_TEST(lost->lost);
  BOOST_TEST(lost->op == 42U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_desk_test
