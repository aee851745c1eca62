#include "actors/turn_queue.h"

#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace larder::turn_queue_test {
namespace {

using namespace std::chrono_literals;

/// A queue and its clock: who has a turn takes it for as long as the test says and, if it is to,
/// asks for another.
struct Bench {
  TurnQueue queue;
  Time now{1s};
  std::map<std::uint64_t, Duration> had;

  std::map<std::uint64_t, Duration> short_turns;  ///< of these sessions, whatever the test says

  /// The session that had it; 0 when none waits.
  std::uint64_t turn(Duration took) {
    const auto session = queue.begin_turn(now);
    if (!session) return 0;
    if (const auto found = short_turns.find(*session); found != short_turns.end()) {
      took = found->second;
    }
    now += took;
    queue.end_turn(took);
    had[*session] += took;
    return *session;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(turn_queue)

BOOST_AUTO_TEST_CASE(nobody_waits) {
  Bench bench;
  BOOST_TEST(bench.queue.empty());
  BOOST_TEST(bench.turn(1us) == 0U);
}

BOOST_AUTO_TEST_CASE(sessions_of_one_tenant_go_round) {
  Bench bench;
  for (const std::uint64_t session : {1UL, 2UL, 3UL})
    bench.queue.push(session, "a", 1, 0);
  for (int round = 0; round < 3; ++round) {
    for (const std::uint64_t session : {1UL, 2UL, 3UL}) {
      BOOST_TEST(bench.turn(5us) == session);
      bench.queue.push(session, "a", 1, 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_flood_of_sessions_has_no_more_than_its_tenant_s_share) {
  Bench bench;
  for (std::uint64_t session = 1; session <= 100; ++session)
    bench.queue.push(session, "flood", 1, 0);
  bench.queue.push(1'000, "other", 1, 0);
  bench.short_turns[1'000] = 10us;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t session = bench.turn(50us);
    bench.queue.push(session, session == 1'000 ? "other" : "flood", 1, 0);
  }
  Duration flood{0};
  for (const auto& [session, had] : bench.had)
    if (session != 1'000) flood += had;
  const double ratio =
      static_cast<double>(flood.count()) / static_cast<double>(bench.had[1'000].count());
  BOOST_TEST(ratio > 0.95);
  BOOST_TEST(ratio < 1.05);
}

BOOST_AUTO_TEST_CASE(who_comes_after_a_rest_is_next_but_has_saved_up_nothing) {
  Bench bench;
  for (std::uint64_t session = 1; session <= 8; ++session)
    bench.queue.push(session, "flood", 1, 0);
  bench.queue.push(1'000, "other", 1, 0);
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t session = bench.turn(100us);
    if (session != 1'000) bench.queue.push(session, "flood", 1, 0);
  }
  bench.queue.push(1'000, "other", 1, 0);
  int others = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t session = bench.turn(100us);
    if (i <= 1 && session == 1'000) others += 100;  // next, or the one behind
    if (session == 1'000) others += 1;
    bench.queue.push(session, session == 1'000 ? "other" : "flood", 1, 0);
  }
  BOOST_TEST(others >= 100);
  BOOST_TEST(others <= 112, "half of the turns from then on, not all");
}

BOOST_AUTO_TEST_CASE(time_goes_by_shares) {
  Bench bench;
  const std::map<std::uint64_t, std::pair<std::string, std::uint32_t>> tenants = {
      {1, {"one", 1}}, {2, {"three", 3}}, {3, {"six", 6}}};
  for (const auto& [session, tenant] : tenants)
    bench.queue.push(session, tenant.first, tenant.second, 0);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t session = bench.turn(20us);
    const auto& [tenant, share] = tenants.at(session);
    bench.queue.push(session, tenant, share, 0);
  }
  const auto of = [&](std::uint64_t session) {
    return static_cast<double>(bench.had[session].count()) /
           static_cast<double>(Duration(200ms).count());
  };
  BOOST_TEST(of(1) == 0.1, boost::test_tools::tolerance(0.02));
  BOOST_TEST(of(2) == 0.3, boost::test_tools::tolerance(0.02));
  BOOST_TEST(of(3) == 0.6, boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(decode_goes_before_prefill_before_backfill_and_nothing_starves) {
  Bench bench;
  for (const std::uint64_t session : {0UL, 1UL, 2UL})
    bench.queue.push(session + 10, "a", 1, static_cast<std::uint8_t>(session));
  std::vector<std::uint64_t> turns;
  for (int i = 0; i < 64; ++i) {
    turns.push_back(bench.turn(5us));
    bench.queue.push(turns.back(), "a", 1, static_cast<std::uint8_t>(turns.back() - 10));
  }
  BOOST_TEST(std::count(turns.begin(), turns.end(), 10U) == 56);
  BOOST_TEST(std::count(turns.begin(), turns.end(), 11U) == 4);
  BOOST_TEST(std::count(turns.begin(), turns.end(), 12U) == 4);
  BOOST_TEST(turns[0] == 10U);
}

BOOST_AUTO_TEST_CASE(a_priority_of_no_class_is_backfill) {
  Bench bench;
  bench.queue.push(1, "a", 1, 255);
  bench.queue.push(2, "a", 1, 1);
  BOOST_TEST(bench.turn(1us) == 2U);
  BOOST_TEST(bench.turn(1us) == 1U);
}

BOOST_AUTO_TEST_CASE(work_outside_of_turns_counts_too) {
  Bench bench;
  bench.queue.push(1, "busy", 1, 0);
  bench.queue.push(2, "other", 1, 0);
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t session = bench.turn(10us);
    if (session == 1) bench.queue.charge("busy", 1, 30us);
    bench.queue.push(session, session == 1 ? "busy" : "other", 1, 0);
  }
  const double ratio =
      static_cast<double>(bench.had[2].count()) / static_cast<double>(bench.had[1].count());
  BOOST_TEST(ratio > 3.9);
  BOOST_TEST(ratio < 4.1);
}

BOOST_AUTO_TEST_CASE(a_year_of_work_loses_no_turn) {
  Bench bench;
  bench.queue.push(1, "a", 1, 0);
  bench.turn(24h * 365);
  bench.had.clear();
  bench.queue.push(1, "a", 1'000, 0);
  bench.queue.push(2, "b", 1'000, 0);
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t session = bench.turn(1us);
    bench.queue.push(session, session == 1 ? "a" : "b", 1'000, 0);
  }
  BOOST_TEST((bench.had[2] >= 499us && bench.had[2] <= 501us));
}

BOOST_AUTO_TEST_CASE(turns_are_short_while_sessions_meet) {
  Bench bench;
  bench.queue.push(1, "a", 1, 0);
  bench.turn(5us);
  bench.queue.push(1, "a", 1, 0);
  bench.turn(5us);
  BOOST_TEST(!bench.queue.contended(bench.now));
  bench.queue.push(2, "a", 1, 0);
  bench.turn(5us);
  BOOST_TEST(bench.queue.contended(bench.now));
  BOOST_TEST(!bench.queue.contended(bench.now + TurnQueue::kContended));
}

BOOST_AUTO_TEST_CASE(tenants_that_are_gone_are_forgotten) {
  Bench bench;
  for (std::uint64_t session = 1; session <= 10'000; ++session) {
    bench.queue.push(session, "tenant-" + std::to_string(session), 1, 0);
    BOOST_TEST_REQUIRE(bench.turn(5us) == session);
  }
  BOOST_TEST(bench.queue.tenants() <= 65U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::turn_queue_test
