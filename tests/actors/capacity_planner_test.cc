#include "actors/capacity_planner.h"

#include <random>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::capacity_planner_test {
namespace {

using namespace literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Bytes kConfigured = 8_GiB;
constexpr Bytes kSlab = 64_MiB;

/// A machine with other processes and a daemon that is slow to give memory back.
struct SimMachine {
  Bytes limit = 16_GiB;
  Bytes others = 2_GiB;
  Bytes held;
  CapacityPlanner planner;
  CapacityPlanner::Plan plan{kConfigured, MemoryRoom::kUnlimited};
  Time now{seconds(1)};
  int changes = 0;

  Bytes taken() const { return others + held; }
  MemoryRoom room() const { return {.limit = limit, .taken = taken(), .file = "memory.max"}; }
  Bytes reserve() const { return room().reserve(); }
  CapacityPlanner::Look look() const {
    return {.configured = kConfigured, .held = held, .beyond = kSlab, .room = room(), .now = now};
  }
  void put_in_force(const CapacityPlanner::Plan& next) {
    changes += next.capacity != plan.capacity ? 1 : 0;
    plan = next;
  }
  /// What a turn of the slab actor does; `retire` bounds the slabs that it empties.
  void turn(std::uint64_t retire, std::uint64_t wanted) {
    now += milliseconds(250);
    put_in_force(planner.next(look()));
    for (; retire > 0 && held > plan.slabs_max; --retire)
      held = held - kSlab;
    for (; wanted > 0 && held + kSlab <= std::min(plan.capacity + kSlab, plan.slabs_max);
         --wanted) {
      if (!CapacityPlanner::fits(look(), kSlab)) return put_in_force(planner.refused(look()));
      held = held + kSlab;
    }
  }
  void turns(int count, std::uint64_t retire = 8, std::uint64_t wanted = 8) {
    for (int n = 0; n < count; ++n)
      turn(retire, wanted);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(capacity_planner)

BOOST_AUTO_TEST_CASE(with_room_the_configured_capacity_is_in_force) {
  SimMachine machine;
  machine.turns(100);
  BOOST_TEST(machine.plan.capacity == kConfigured);
  BOOST_TEST(machine.plan.slabs_max == MemoryRoom::kUnlimited);
  BOOST_TEST(machine.held == kConfigured + kSlab);
  BOOST_TEST(machine.changes == 0);
}

BOOST_AUTO_TEST_CASE(one_shortfall_lowers_once_however_slowly_memory_comes_back) {
  SimMachine machine;
  machine.turns(100);

  machine.limit = machine.taken();  // the reserve is gone
  machine.turns(40, 1);

  BOOST_TEST(machine.changes == 1);
  BOOST_TEST(machine.room().left() >= machine.reserve());
  // No more than reserve, slack and a slab were given up.
  BOOST_TEST(machine.room().left() <= machine.reserve() * 2);
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_given_back_is_not_asked_for_again) {
  SimMachine machine;
  machine.turns(100);
  machine.limit = machine.taken();
  machine.turns(400, 0);  // all is leased
  BOOST_TEST(machine.changes == 1);
}

BOOST_AUTO_TEST_CASE(a_floor_stays_whatever_others_take) {
  SimMachine machine;
  machine.turns(100);
  machine.others = machine.limit;
  machine.turns(100);
  BOOST_TEST(machine.plan.slabs_max == Bytes{kConfigured.count / CapacityPlanner::kStepShare});
  BOOST_TEST(machine.plan.capacity > Bytes{kConfigured.count / 32});
}

BOOST_AUTO_TEST_CASE(it_grows_after_a_while_of_room_in_steps_and_stops_before_the_reserve) {
  SimMachine machine;
  machine.turns(100);
  machine.others = 12_GiB;
  machine.turns(100);
  const Bytes low = machine.plan.capacity;
  const int before = machine.changes;

  machine.others = 10_GiB;
  machine.turns(4 * 25);
  BOOST_TEST(machine.plan.capacity == low);
  machine.turns(4 * 10);
  BOOST_TEST(machine.changes == before + 1);
  BOOST_TEST(machine.plan.capacity <= low + Bytes{kConfigured.count / CapacityPlanner::kStepShare});
  machine.turns(4 * 600);
  BOOST_TEST(machine.room().left() >= machine.reserve());
  BOOST_TEST(machine.room().left() <= machine.reserve() * 2 + kSlab);
  BOOST_TEST(machine.plan.capacity < kConfigured);

  machine.others = 2_GiB;
  machine.turns(4 * 1'000);
  BOOST_TEST(machine.plan.capacity == kConfigured);
  BOOST_TEST(machine.plan.slabs_max == MemoryRoom::kUnlimited);
}

BOOST_AUTO_TEST_CASE(a_slab_that_does_not_fit_lowers_the_capacity_to_what_there_is) {
  SimMachine machine;
  machine.others = 14_GiB;
  machine.turns(100);
  BOOST_TEST(machine.changes == 1);
  BOOST_TEST(machine.plan.capacity <= machine.held);
  BOOST_TEST(machine.plan.capacity + kSlab * 2 >= machine.held);
  BOOST_TEST(machine.room().left() >= machine.reserve());
}

BOOST_AUTO_TEST_CASE(a_slab_larger_than_all_room_lowers_nothing) {
  SimMachine machine;
  machine.limit = 4_GiB;
  BOOST_TEST(!CapacityPlanner::fits(machine.look(), 2_GiB));
  machine.put_in_force(machine.planner.refused(machine.look()));
  BOOST_TEST(machine.changes == 0);
}

/// Others grow by at most a quarter of the reserve a turn, which is less than the daemon can give
/// back; the limit is lowered under load, not below what is taken (the kernel refuses that, or
/// kills at once).
BOOST_DATA_TEST_CASE(the_limit_is_never_passed_and_all_comes_back,
                     boost::unit_test::data::xrange(50), seed) {
  constexpr int kTurns = 20'000;  // 83 minutes
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  SimMachine machine;
  Bytes grown;  // what may make the capacity fall
  for (int n = 0; n < kTurns; ++n) {
    if (rng() % 1'000 == 0) {
      const Bytes before = machine.limit;
      machine.limit = std::max(machine.taken() + 256_MiB, 8_GiB + Bytes{rng() % (8_GiB).count});
      grown = grown + (before - std::min(before, machine.limit));
    }
    if (rng() % 500 == 0) machine.others = std::min(machine.others, Bytes{rng() % (8_GiB).count});
    const Bytes change{rng() % (machine.reserve().count / 4)};
    if (n / 200 % 3 > 0) {
      machine.others = machine.others - std::min(machine.others, change);
    } else if (machine.others + change < 7_GiB) {
      machine.others = machine.others + change;
      grown = grown + change;
    }
    machine.turn(2, rng() % 8);
    BOOST_TEST_REQUIRE((machine.taken() <= machine.limit));
    BOOST_TEST_REQUIRE((machine.plan.capacity <= kConfigured));
  }
  // Down: once for each slack that others took. Up: once in 30 s, and each may be refused once.
  const std::uint64_t slack_least = (8_GiB).count / 50 / 4;
  BOOST_TEST(static_cast<std::uint64_t>(machine.changes) <=
             grown.count / slack_least + kTurns / 60);

  const int before = machine.changes;
  machine.limit = 16_GiB;
  machine.others = 1_GiB;
  machine.turns(4 * 1'000);
  BOOST_TEST(machine.plan.capacity == kConfigured);
  BOOST_TEST(machine.held == kConfigured + kSlab);
  BOOST_TEST(machine.changes <= before + 20);
}

BOOST_AUTO_TEST_CASE(noise_below_the_slack_changes_nothing) {
  std::mt19937_64 rng(1);
  SimMachine machine;
  machine.limit = 8_GiB;
  machine.turns(1'000);
  const int before = machine.changes;
  const Bytes others = machine.others;
  for (int n = 0; n < 10'000; ++n) {
    machine.others = others + Bytes{rng() % (machine.reserve().count / 4)};
    machine.turns(1);
  }
  BOOST_TEST(machine.changes <= before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::capacity_planner_test
