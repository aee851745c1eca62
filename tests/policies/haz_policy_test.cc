#include "policies/haz_policy.h"

#include <ctime>
#include <set>

#include <boost/test/unit_test.hpp>

namespace larder::haz_policy_test {
namespace {

using std::chrono::seconds;

/// Requests of chains of fresh ids, each served at its time.
class Server {
 public:
  explicit Server(std::shared_ptr<ReuseBoard> board = nullptr) : policy(std::move(board)) {}

  HazPolicy policy;
  Time now{seconds(100)};

  /// Ids of a new prompt of `blocks`, all inserted.
  std::vector<PolicyId> serve_new(std::uint32_t blocks, std::uint32_t output) {
    std::vector<PolicyId> chain;
    const RequestContext context = begin(blocks, 0);
    for (std::uint32_t n = 0; n < blocks; ++n) {
      PolicyInsert insert{
          .id = PolicyId(next_id_++), .parent = {}, .size = {1}, .stamp = stamp(n), .position = n};
      if (n > 0) insert.parent = chain.back();
      policy.on_insert(insert, &context);
      chain.push_back(insert.id);
    }
    end(context, chain, output);
    return chain;
  }
  /// The same prompt again; all of it must be there.
  void serve_again(const std::vector<PolicyId>& chain, std::uint32_t output) {
    const auto blocks = static_cast<std::uint32_t>(chain.size());
    end(begin(blocks, blocks), chain, output);
  }
  std::optional<Victim> victim() {
    return policy.victim(now, [](PolicyId) { return false; });
  }
  bool admits(std::uint32_t blocks, double cheapest) {
    const RequestContext context = begin(blocks, 0);
    return policy.admit({.id = {}, .parent = {}, .size = {1}, .stamp = stamp(0)}, &context,
                        cheapest);
  }

 private:
  RequestContext begin(std::uint32_t blocks, std::uint32_t known) {
    const RequestContext context{.request = RequestId(++sequence_),
                                 .now = now,
                                 .prompt_blocks = blocks,
                                 .known_blocks = known,
                                 .continuing = known > 0,
                                 .last_gap = seconds(5)};
    policy.on_request(context);
    return context;
  }
  void end(const RequestContext& context, const std::vector<PolicyId>& chain,
           std::uint32_t output) {
    policy.on_request_end(context, output);
    std::uint64_t from_suffix = 0;
    for (auto id = chain.rbegin(); id != chain.rend(); ++id)
      policy.on_hit(*id, Stamp(sequence_ << kStampPositionBits | from_suffix++), &context);
  }
  Stamp stamp(std::uint32_t position) const {
    return Stamp((sequence_ - 1) << kStampPositionBits | (4'000 - position));
  }

  std::uint64_t sequence_ = 1;
  std::uint32_t next_id_ = 0;
};

/// Prompts of 2 blocks come back after 20 s, those of 20 never.
void teach(Server& server, int rounds) {
  std::vector<std::vector<PolicyId>> waiting;
  for (int round = 0; round < rounds; ++round) {
    server.now += seconds(5);
    waiting.push_back(server.serve_new(2, 100));
    server.serve_new(20, 100);
    if (waiting.size() < 5) continue;
    server.serve_again(waiting[waiting.size() - 5], 100);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(haz_policy)

BOOST_AUTO_TEST_CASE(knowing_nothing_it_is_lru_leaves_first) {
  Server server;
  const auto first = server.serve_new(3, 10);
  server.now += seconds(1);
  const auto second = server.serve_new(3, 10);
  std::vector<PolicyId> order;
  while (const auto victim = server.victim()) {
    order.push_back(victim->id);
    server.policy.on_erase(victim->id, EraseCause::kEvicted);
  }
  const std::vector<PolicyId> oldest_suffix_first = {first[2],  first[1],  first[0],
                                                     second[2], second[1], second[0]};
  BOOST_TEST((order == oldest_suffix_first));
}

BOOST_AUTO_TEST_CASE(what_comes_back_is_kept_and_what_does_not_leaves_though_it_is_newer) {
  Server server;
  teach(server, 200);
  const auto returning = server.serve_new(2, 100);
  server.now += seconds(2);
  const auto passing = server.serve_new(20, 100);
  const std::set<PolicyId> kept(returning.begin(), returning.end());
  std::set<PolicyId> gone;
  while (!gone.contains(passing.front())) {
    const auto victim = server.victim();
    BOOST_REQUIRE(victim.has_value());
    BOOST_REQUIRE(!kept.contains(victim->id));
    server.policy.on_erase(victim->id, EraseCause::kEvicted);
    gone.insert(victim->id);
  }
}

BOOST_AUTO_TEST_CASE(a_new_block_worth_less_than_the_one_that_must_leave_is_refused) {
  Server server;
  teach(server, 200);
  const auto returning = server.serve_new(2, 100);
  server.now += seconds(10);
  const auto value =
      server.policy.victim(server.now, [&](PolicyId id) { return id != returning.back(); });
  BOOST_REQUIRE(value.has_value());

  BOOST_TEST(server.admits(2, value->value / 2));
  BOOST_TEST(!server.admits(20, value->value));
  BOOST_TEST(server.admits(20, EvictionPolicy::kRoom));
}

/// A shard that has seen no reuse decides by what another has seen.
BOOST_AUTO_TEST_CASE(what_one_shard_has_learned_the_others_know) {
  const auto board = std::make_shared<ReuseBoard>();
  Server taught(board);
  teach(taught, 200);
  const auto passing_goes_first = [](Server& server) {
    server.now = Time{seconds(2'000)};
    for (int n = 0; n < 300; ++n) {  // rounds, of what says nothing
      server.now += seconds(1);
      server.serve_new(1, 10);
    }
    const auto returning = server.serve_new(2, 100);
    server.now += seconds(2);
    const auto passing = server.serve_new(20, 100);
    const auto value_of = [&](const std::vector<PolicyId>& chain) {
      return server.policy.victim(server.now, [&](PolicyId id) { return id != chain.back(); })
          ->value;
    };
    return value_of(passing) < value_of(returning) / 2;
  };
  Server neighbour(board);
  BOOST_TEST(passing_goes_first(neighbour));
  Server stranger;
  BOOST_TEST(!passing_goes_first(stranger));
}

BOOST_AUTO_TEST_CASE(times_that_stand_still_or_go_backwards_do_no_harm) {
  Server server;
  teach(server, 50);
  server.now -= seconds(10'000);
  teach(server, 50);
  server.now = Time{};
  std::set<PolicyId> seen;
  for (int n = 0; n < 2'000; ++n)
    server.serve_new(3, 10);
  while (const auto victim = server.victim()) {
    BOOST_REQUIRE(seen.insert(victim->id).second);
    server.policy.on_erase(victim->id, EraseCause::kEvicted);
  }
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_unit_goes_first) {
  Server server;
  server.serve_new(3, 10);
  server.policy.on_insert({.id = PolicyId(900), .parent = {}, .size = {1}, .stamp = Stamp(0)},
                          nullptr);
  BOOST_TEST((server.victim()->id == PolicyId(900)));
}

/// Of thread CPU, with a million blocks: each call does a slice of the rebuild.
BOOST_AUTO_TEST_CASE(no_call_rebuilds_for_longer_than_a_slice) {
  const auto cpu_ns = [] {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1'000'000'000LL + at.tv_nsec;
  };
  Server server;
  for (int n = 0; n < 2'000; ++n) {
    server.now += std::chrono::milliseconds(100);
    server.serve_new(100, static_cast<std::uint32_t>(n));
  }
  // A machine that is busy delays single calls; a step that is too long is so each time.
  int slow = 0;
  for (int n = 0; n < 20'000; ++n) {
    server.now += std::chrono::milliseconds(100);
    const auto began = cpu_ns();
    server.policy.on_request({.request = RequestId(1), .now = server.now, .prompt_blocks = 1});
    slow += cpu_ns() - began > 1'000'000 ? 1 : 0;
  }
  BOOST_TEST(slow < 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::haz_policy_test
