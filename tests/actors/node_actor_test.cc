#include "actors/node_actor.h"

#include <boost/test/unit_test.hpp>

#include "policies/lru_policy.h"
#include "tests/actors/deterministic_system.h"
#include "tests/actors/store_fixture.h"

namespace larder::node_actor_test {

namespace {

struct TwoShards : sim::StoreFixture, sim::DeterministicSystem {
  TwoShards() : sim::StoreFixture(2) {
    NodeActorOptions options;
    options.store = store.get();
    options.ports = &ports;
    options.make_policy = [this](TenantId) {
      policies_made += 1;
      return std::make_unique<LruPolicy>();
    };
    options.shard_options = [this](ShardId id) {
      ShardActorOptions made;
      made.id = id;
      made.store = store.get();
      made.counters = &counters[id.value()];
      made.slabs = nobody;
      made.now = [] { return sim::kStart; };
      made.wall_ns = [] { return 0; };
      made.poke = [](ShardId) {};
      return made;
    };
    options.log = [this](const std::string& line) { log.push_back(line); };
    options.on_restart = [this](ShardId id) { restarted.push_back(id.value()); };
    nobody = system.spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](NeedSlotsAtom, const PoolName&, ShardId, std::uint32_t) {},
              [](const OldPoliciesPtr&) {}};
    });
    node = system.spawn(node_actor, std::move(options));
    run();
    make_slab();
  }
  ~TwoShards() {
    caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
    run();
    for (const ShardHandle& shard : ports.all())
      caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(nobody, caf::exit_reason::user_shutdown);
    ports.clear();
    run();
  }
  void kill(std::uint32_t shard) {
    caf::anon_send_exit(ports.shard(ShardId(shard)), caf::exit_reason::kill);
  }
  /// What is sent behind it waits in the mailbox, however short it is.
  std::shared_ptr<ScanCall> send_long_call(std::uint32_t shard) {
    auto call = std::make_shared<ScanCall>();
    call->limit = 1;
    call->reply_to = &inbox;
    ports.send(ShardId(shard), call);
    return call;
  }

  ActorPorts ports{2};
  ShardCounters counters[2];
  int policies_made = 0;
  std::vector<std::string> log;
  std::vector<std::uint32_t> restarted;
  caf::actor nobody;
  caf::actor node;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_actor_supervises, TwoShards)

BOOST_AUTO_TEST_CASE(a_shard_that_dies_is_made_anew_on_its_index) {
  const auto put = reserve(1, 2);
  const auto filling = reserve(5, 1);
  ports.send(ShardId(1), put);
  ports.send(ShardId(1), filling);
  ports.send(ShardId(1), claim(9, SessionId(7)));
  run();
  commit(*put, 1);
  const ShardHandle before = ports.shard(ShardId(1));
  const ShardHandle other = ports.shard(ShardId(0));

  kill(1);
  run();

  BOOST_TEST((ports.shard(ShardId(1)) != before));
  BOOST_TEST((ports.shard(ShardId(0)) == other));
  BOOST_TEST(restarted == std::vector<std::uint32_t>{1});
  BOOST_TEST(log == std::vector<std::string>{"shard_restarted shard=1"});
  BOOST_TEST((state(1, 1) == EntryState::kCommitted));
  BOOST_TEST((state(9, 1) == EntryState::kClaimed));
  // The new one owns what the old one had: a reservation of before can be taken back or committed.
  commit(*filling, 1);
  const auto gone = erase(1);
  ports.send(ShardId(1), gone);
  run();
  BOOST_TEST(gone->erased == std::vector<std::uint8_t>{1});
  BOOST_TEST((state(1, 1) == EntryState::kFree));
}

/// What comes while the shards change waits, and one that dies afterwards has the new policy, too.
BOOST_AUTO_TEST_CASE(a_change_of_policy_keeps_the_blocks_and_outlives_a_death) {
  const auto put = reserve(1, 2);
  ports.send(ShardId(1), put);
  run();
  commit(*put, 1);
  int changed = 0;
  auto change = std::make_shared<PolicyChange>();
  change->make_policy = [&](TenantId) {
    changed += 1;
    return std::make_unique<LruPolicy>();
  };
  change->sequence = store->sequence.fetch_add(PolicyChange::kAgesKept) + PolicyChange::kAgesKept;
  const int before = policies_made;

  caf::anon_send(node, PolicyChangePtr(change));
  const auto meanwhile = reserve(7, 1);
  send_long_call(1);
  ports.send(ShardId(1), meanwhile);
  run();

  BOOST_TEST(meanwhile->answered);
  BOOST_TEST((state(1, 1) == EntryState::kCommitted));
  BOOST_TEST(changed == 1);  // of the tenant's in shard 1
  kill(1);
  run();
  ports.send(ShardId(1), reserve(20, 1));
  run();
  BOOST_TEST(changed == 2);
  BOOST_TEST(policies_made == before);
  BOOST_TEST((state(1, 1) == EntryState::kCommitted));
}

BOOST_AUTO_TEST_CASE(
    what_was_queued_at_the_death_is_answered_as_lost_and_what_comes_later_is_served) {
  kill(0);
  send_long_call(0);
  ports.send(ShardId(0), reserve(1, 1));
  run();
  BOOST_TEST((answers() == std::pair{2, 2}));
  const auto later = reserve(1, 1);
  ports.send(ShardId(0), later);
  run();
  BOOST_TEST((later->items[0].outcome == ReserveOutcome::kReserved));
}

BOOST_AUTO_TEST_CASE(an_abort_that_dies_with_its_shard_comes_back_to_be_sent_again) {
  const auto put = reserve(1, 2);
  ports.send(ShardId(0), put);
  run();
  kill(0);
  send_long_call(0);
  ports.send(ShardId(0), abort_of(*put));
  run();
  BOOST_TEST((state(1) == EntryState::kFilling));
  BOOST_TEST((answers() == std::pair{2, 1}));
  BOOST_REQUIRE(lost_aborts.size() == 1U);

  ports.send(ShardId(0), lost_aborts[0]);
  run();

  BOOST_TEST((state(1) == EntryState::kFree));
  BOOST_TEST(store->budget.ledger.used().count == 0U);
  lost_aborts.clear();
  BOOST_TEST((answers() == std::pair{0, 0}));
  BOOST_TEST(lost_aborts.empty());
}

BOOST_AUTO_TEST_CASE(what_is_short_is_done_where_it_comes_from_but_never_before_what_waits) {
  const auto here = reserve(1, 2);
  ports.send(ShardId(0), here);
  BOOST_TEST(here->answered);
  BOOST_TEST((here->items[0].outcome == ReserveOutcome::kReserved));

  const auto waits = send_long_call(0);
  const auto behind = reserve(3, 1);
  const auto elsewhere = reserve(1, 1);
  ports.send(ShardId(0), behind);
  ports.send(ShardId(1), elsewhere);
  BOOST_TEST(!waits->answered);
  BOOST_TEST(!behind->answered);
  BOOST_TEST(elsewhere->answered);
  run();
  BOOST_TEST(waits->answered);
  BOOST_TEST(behind->answered);

  const auto after = erase(9);
  ports.send(ShardId(0), after);
  BOOST_TEST(after->answered);
}

BOOST_AUTO_TEST_CASE(what_comes_while_a_shard_is_made_anew_waits_for_it) {
  const auto put = reserve(1, 8);
  ports.send(ShardId(0), put);
  commit(*put);
  const auto claimed = claim(20, SessionId(7));
  ports.send(ShardId(0), claimed);
  kill(0);
  // Until the supervisor has spawned the next one, and no further.
  while (restarted.empty())
    BOOST_REQUIRE(scheduler.try_run_once());
  const auto gone = erase(1);
  const auto again = claim(20, SessionId(8));
  ports.send(ShardId(0), gone);
  ports.send(ShardId(0), again);
  BOOST_TEST(!gone->answered);
  run();
  BOOST_TEST(gone->erased == std::vector<std::uint8_t>{1});
  BOOST_TEST((again->outcomes == std::vector{ClaimOutcome::kPending}));

  const auto short_again = erase(2);
  ports.send(ShardId(0), short_again);
  BOOST_TEST(short_again->erased == std::vector<std::uint8_t>{1});
}

BOOST_AUTO_TEST_CASE(a_question_of_the_slab_actor_is_never_answered_as_if_nothing_stood_there) {
  const auto put = reserve(1, 8);
  ports.send(ShardId(0), put);
  commit(*put);
  kill(0);
  while (restarted.empty())
    BOOST_REQUIRE(scheduler.try_run_once());
  caf::scoped_actor self{system};
  auto evicted = self->request(ports.shard(ShardId(0)), caf::infinite, EvictPoolAtom::value,
                               PoolName{TenantId(0), sim::kSlot}, std::uint32_t{5});
  run();
  evicted.receive([](std::uint32_t count) { BOOST_TEST(count == 5U); },
                  [](const caf::error&) { BOOST_ERROR("no answer"); });
}

BOOST_AUTO_TEST_CASE(a_shard_may_die_again_and_again) {
  const auto put = reserve(1, 1);
  ports.send(ShardId(0), put);
  run();
  commit(*put);
  for (int n = 0; n < 10; ++n) {
    kill(0);
    run();
  }
  BOOST_TEST(restarted.size() == 10U);
  BOOST_TEST((state(1) == EntryState::kCommitted));
  const auto gone = erase(1);
  ports.send(ShardId(0), gone);
  run();
  BOOST_TEST(gone->erased == std::vector<std::uint8_t>{1});
  BOOST_TEST(store->budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_CASE(nobody_makes_a_shard_anew_once_the_node_has_ended) {
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
  run();
  kill(0);
  run();
  BOOST_TEST(restarted.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::node_actor_test
