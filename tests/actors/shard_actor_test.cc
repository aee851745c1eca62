#include "actors/shard_actor.h"

#include <boost/test/unit_test.hpp>

#include "policies/lru_policy.h"
#include "tests/actors/deterministic_system.h"
#include "tests/actors/store_fixture.h"

namespace larder::shard_actor_test {

namespace {

using std::chrono::milliseconds;

/// Plays the slab actor: remembers what it was asked.
struct Asked {
  std::vector<std::uint32_t> counts;
  PoolName pool;
};
caf::behavior ask_recorder(caf::event_based_actor* /*self*/, std::shared_ptr<Asked> asked) {
  return {[asked](NeedSlotsAtom, const PoolName& pool, ShardId, std::uint32_t count) {
    asked->counts.push_back(count);
    asked->pool = pool;
  }};
}

struct OneShard : sim::StoreFixture, sim::DeterministicSystem {
  OneShard() {
    slabs = system.spawn(ask_recorder, asked);
    ShardActorOptions options;
    options.store = store.get();
    options.counters = &counters;
    options.make_policy = [](TenantId) { return std::make_unique<LruPolicy>(); };
    options.slabs = slabs;
    options.now = [this] { return now; };
    options.wall_ns = [] { return 0; };
    options.poke = [](ShardId) {};
    shard = system.spawn(shard_actor, std::move(options));
    run();
  }
  ~OneShard() {
    caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(slabs, caf::exit_reason::user_shutdown);
    run();
  }
  template <class Message>
  void send(const Message& message) {
    caf::anon_send(shard, message);
  }
  void pass(Duration time) {
    now += time;
    scheduler.advance_time(time);
    run();
  }

  Time now = sim::kStart;
  std::shared_ptr<Asked> asked = std::make_shared<Asked>();
  ShardCounters counters;
  caf::actor slabs;
  ShardHandle shard;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_actor_messages, OneShard)

BOOST_AUTO_TEST_CASE(a_reservation_without_a_slot_waits_for_the_slab_actor) {
  const auto call = reserve(1, 2);
  send(call);
  run();
  BOOST_TEST(!call->answered);
  BOOST_TEST(asked->counts == std::vector<std::uint32_t>{2});

  make_slab();
  caf::anon_send(shard, RefilledAtom::value, asked->pool, true);
  run();

  BOOST_TEST(call->answered);
  BOOST_TEST((call->items[1].outcome == ReserveOutcome::kReserved));
}

BOOST_AUTO_TEST_CASE(what_one_sender_sends_is_done_in_order) {
  make_slab();
  const auto first = reserve(1, 1);
  send(first);
  run();
  // Queued together: the abort makes room for the claim, the claim's end for another's.
  send(abort_of(*first));
  const auto claimed = claim(1, SessionId(7));
  send(claimed);
  auto drop = std::make_shared<DropClaimsNote>();
  drop->session = SessionId(7);
  send(std::shared_ptr<const DropClaimsNote>(drop));
  const auto second = claim(1, SessionId(8));
  send(second);
  run();

  BOOST_TEST((claimed->outcomes == std::vector{ClaimOutcome::kClaimed}));
  BOOST_TEST((second->outcomes == std::vector{ClaimOutcome::kClaimed}));
  BOOST_TEST((state(1) == EntryState::kClaimed));
}

BOOST_AUTO_TEST_CASE(a_parked_reservation_ends_at_its_deadline_by_the_tick_alone) {
  const auto call = reserve(1, 1);
  send(call);
  run();
  pass(milliseconds(980));
  BOOST_TEST(!call->answered);
  pass(milliseconds(20));
  BOOST_TEST(call->answered);
  BOOST_TEST((call->items[0].outcome == ReserveOutcome::kNoSlot));
}

BOOST_AUTO_TEST_CASE(ticks_are_rare_while_nothing_happens) {
  const auto ticked = [this] { return counters.seen() == now; };
  pass(milliseconds(20));  // nothing since it was made
  int ticks = 0;
  for (int n = 0; n < 16; ++n) {
    pass(milliseconds(20));
    ticks += ticked() ? 1 : 0;
  }
  BOOST_TEST(ticks == 4);

  send(claim(1, SessionId(7)));  // lapses by a tick, after this test
  pass(milliseconds(80));
  ticks = 0;
  for (int n = 0; n < 20; ++n) {
    pass(milliseconds(20));
    ticks += ticked() ? 1 : 0;
  }
  BOOST_TEST(ticks == 20);
}

BOOST_AUTO_TEST_CASE(a_claim_lapses_by_the_tick_alone) {
  send(claim(1, SessionId(7)));
  run();
  BOOST_TEST((state(1) == EntryState::kClaimed));
  pass(std::chrono::seconds(1));
  pass(milliseconds(20));
  BOOST_TEST((state(1) == EntryState::kFree));
}

BOOST_AUTO_TEST_CASE(counters_are_published_by_the_tick) {
  make_slab();
  const auto call = reserve(1, 3);
  send(call);
  run();
  commit(*call);
  send(erase(2));
  pass(milliseconds(20));
  BOOST_TEST(counters.value(0) == 3U);  // inserts
  BOOST_TEST(counters.value(3) == 1U);  // removals
}

BOOST_AUTO_TEST_CASE(a_pool_is_evicted_from_on_request_and_leased_blocks_stay) {
  make_slab();
  const auto call = reserve(1, 3);
  send(call);
  run();
  commit(*call);
  const auto held = store->indexes[0]->lease(call->items[0].entry, key(1));
  BOOST_REQUIRE(held.has_value());

  caf::scoped_actor self{system};
  auto evicted = self->request(shard, caf::infinite, EvictPoolAtom::value,
                               PoolName{TenantId(0), sim::kSlot}, std::uint32_t{5});
  run();
  evicted.receive([](std::uint32_t count) { BOOST_TEST(count == 2U); },
                  [](const caf::error&) { BOOST_ERROR("no answer"); });
  BOOST_TEST((state(1) == EntryState::kCommitted));
  store->indexes[0]->release(held->entry);
}

BOOST_AUTO_TEST_CASE(a_dying_shard_answers_what_is_parked_and_loses_what_is_queued) {
  const auto parked = reserve(1, 1);
  send(parked);
  run();
  BOOST_TEST(answers().first == 0);

  caf::anon_send_exit(shard, caf::exit_reason::kill);
  send(reserve(2, 1));
  send(claim(3, SessionId(7)));
  send(erase(4));
  run();

  const auto [all, lost] = answers();
  BOOST_TEST(all == 4);
  BOOST_TEST(lost == 3);
  BOOST_TEST(parked->answered);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_actor_test
