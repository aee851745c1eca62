#include "ops/sim.h"

#include <array>
#include <cmath>
#include <map>
#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "policies/make_policy.h"

namespace larder::sim_test {
namespace {

namespace data = boost::unit_test::data;

const SimTrace& recorded(const std::string& name) {
  static std::map<std::string, SimTrace> traces;
  auto& trace = traces[name];
  if (trace.requests.empty()) {
    const std::vector<std::vector<TraceRequest>> read = {
        *read_trace(LARDER_TRACES "/" + name + "_trace.jsonl.zst", 0)};
    trace = make_sim_trace(read);
  }
  return trace;
}

SimResult one(const SimTrace& trace, const std::string& policy, std::uint64_t capacity,
              const std::string& hints = "") {
  SimCommand command;
  command.policies = policy;
  command.capacities = std::to_string(capacity);
  command.hints = hints;
  const auto results = simulate(trace, command, {"t"});
  BOOST_REQUIRE(results.ok());
  return results->at(0);
}

double four_decimals(double rate) {
  return std::round(rate * 10'000) / 10'000;
}

struct Known {
  const char* trace;
  const char* policy;
  std::uint64_t capacity;
  double hit_rate;
};
std::ostream& operator<<(std::ostream& out, const Known& known) {
  return out << known.policy << " of " << known.trace << " at " << known.capacity;
}
/// Independent references agree on these.
const std::vector<Known> kKnown = {
    {"conversation", "lru", 1'000, .0445},  {"conversation", "lru", 10'000, .2116},
    {"conversation", "lru", 18'279, .2789}, {"conversation", "lru", 30'000, .3257},
    {"conversation", "min", 1'000, .1907},  {"conversation", "min", 10'000, .3664},
    {"conversation", "min", 18'279, .3664}, {"conversation", "min", 30'000, .3664},
    {"synthetic", "lru", 1'000, .0841},     {"synthetic", "lru", 10'000, .4239},
    {"synthetic", "lru", 17'570, .5451},    {"synthetic", "lru", 30'000, .6242},
    {"synthetic", "min", 1'000, .2767},     {"synthetic", "min", 10'000, .6180},
    {"synthetic", "min", 17'570, .6396},    {"synthetic", "min", 30'000, .6396},
};
/// What haz has to reach.
const std::vector<Known> kGoals = {{"conversation", "haz", 10'000, .240},
                                   {"conversation", "haz", 18'279, .300},
                                   {"synthetic", "haz", 10'000, .480}};

using Prompts = std::vector<std::vector<std::uint64_t>>;

/// A request a second.
SimTrace trace_of(const Prompts& prompts) {
  std::vector<std::vector<TraceRequest>> traces(1);
  for (const auto& ids : prompts) {
    traces[0].push_back({.timestamp_ms = 1'000 * traces[0].size(),
                         .input_length = static_cast<std::uint32_t>(512 * ids.size()),
                         .output_length = 100,
                         .hash_ids = ids});
  }
  return make_sim_trace(traces);
}

Prompts cyclic_scan(std::uint64_t prompts, int rounds) {
  Prompts out;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t n = 0; n < prompts; ++n)
      out.push_back({10 * n, 10 * n + 1, 10 * n + 2, 10 * n + 3});
  }
  return out;
}

std::vector<std::string> all_policies() {
  std::vector<std::string> names = policy_names();
  names.emplace_back("min");
  return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim)

BOOST_DATA_TEST_CASE(hit_rates_are_exactly_the_known_ones, data::make(kKnown), known) {
  const SimResult result = one(recorded(known.trace), known.policy, known.capacity);
  BOOST_TEST(four_decimals(result.hit_rate) == known.hit_rate);
}

BOOST_DATA_TEST_CASE(haz_reaches_its_goals, data::make(kGoals), goal) {
  BOOST_TEST(one(recorded(goal.trace), goal.policy, goal.capacity).hit_rate >= goal.hit_rate);
}

BOOST_DATA_TEST_CASE(haz_is_nowhere_below_lru,
                     data::make(std::vector<std::string>{"conversation", "synthetic"}) *
                         data::make(std::vector<int>{1'000, 2'000, 5'000, 20'000, 30'000, 50'000}),
                     name, blocks) {
  const auto capacity = static_cast<std::uint64_t>(blocks);
  const double lru = one(recorded(name), "lru", capacity).hit_rate;
  BOOST_TEST(one(recorded(name), "haz", capacity).hit_rate >= lru - .001);
}

BOOST_AUTO_TEST_CASE(haz_writes_less_than_lru) {
  const SimResult lru = one(recorded("conversation"), "lru", 10'000);
  const SimResult haz = one(recorded("conversation"), "haz", 10'000);
  BOOST_TEST(haz.inserts <= lru.inserts * 4 / 5);
}

BOOST_AUTO_TEST_CASE(hints_help_haz_and_wrong_ones_do_not_bring_it_below_lru) {
  const SimTrace& trace = recorded("conversation");
  BOOST_TEST(one(trace, "haz", 10'000, "oracle:0.1").hit_rate >= .310);
  BOOST_TEST(one(trace, "haz", 10'000, "oracle:1").hit_rate >=
             one(trace, "lru", 10'000).hit_rate - .001);
}

BOOST_DATA_TEST_CASE(nobody_beats_the_optimum, data::make(policy_names()), name) {
  const SimTrace& trace = recorded("synthetic");
  const double least = one(trace, "min", 3'000).hit_rate;
  const double rate = one(trace, name, 3'000).hit_rate;
  BOOST_TEST(rate <= least);
  BOOST_TEST(rate > 0.1);
}

/// No policy knows what comes: until there, another future changes nothing.
BOOST_DATA_TEST_CASE(the_future_changes_no_decision, data::make(policy_names()), name) {
  auto requests = *read_trace(LARDER_TRACES "/synthetic_trace.jsonl.zst", 1'500);
  auto permuted = requests;
  std::mt19937 rng(7);
  std::shuffle(permuted.begin() + 700, permuted.end(), rng);
  const std::vector<std::vector<TraceRequest>> futures = {requests, permuted};
  const SimTrace first = make_sim_trace(std::span(futures).subspan(0, 1));
  const SimTrace second = make_sim_trace(std::span(futures).subspan(1, 1));
  const auto serve = [&](const SimTrace& trace) {
    std::vector<std::unique_ptr<EvictionPolicy>> policies;
    policies.push_back(*make_policy(name));
    auto cache =
        std::make_unique<SimCache>(trace, SimOptions{.capacity = {2'000}}, std::move(policies));
    for (std::uint32_t n = 0; n < 700; ++n)
      cache->serve(n, std::nullopt);
    return cache;
  };
  const auto one_future = serve(first);
  const auto other_future = serve(second);
  BOOST_TEST(one_future->counts().hits == other_future->counts().hits);
  BOOST_TEST(one_future->counts().inserts == other_future->counts().inserts);
  // Blocks that were met before have the same numbers in both.
  for (std::uint32_t n = 0; n < 700; ++n) {
    for (const std::uint32_t block : first.blocks_of(first.requests[n]))
      BOOST_REQUIRE(one_future->contains(block) == other_future->contains(block));
  }
}

BOOST_DATA_TEST_CASE(a_trace_without_requests_or_with_one_is_played, data::make(all_policies()),
                     name) {
  BOOST_TEST(one(trace_of({}), name, 10).hit_rate == 0.0);
  BOOST_TEST(one(trace_of({{}}), name, 10).hit_rate == 0.0);
  BOOST_TEST(one(trace_of({{1, 2, 3}}), name, 10).inserts == 3U);
  BOOST_TEST(
      one(trace_of({{~0ULL, (1ULL << 63) + 1}, {~0ULL, (1ULL << 63) + 1}}), name, 10).hit_rate ==
      0.5);
}

BOOST_DATA_TEST_CASE(the_same_prompt_again_and_again_is_missed_once, data::make(all_policies()),
                     name) {
  const Prompts prompts(100, {1, 2, 3, 4});
  const SimResult result = one(trace_of(prompts), name, 20);
  BOOST_TEST(result.hit_rate == 0.99);
  BOOST_TEST(result.inserts == 4U);
}

BOOST_DATA_TEST_CASE(prompts_that_are_all_different_hit_nothing, data::make(all_policies()), name) {
  Prompts prompts;
  for (std::uint64_t n = 0; n < 500; ++n)
    prompts.push_back({4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3});
  BOOST_TEST(one(trace_of(prompts), name, 40).hit_rate == 0.0);
}

BOOST_DATA_TEST_CASE(a_prompt_larger_than_the_cache_leaves_its_leading_blocks,
                     data::make(policy_names()), name) {
  if (name == "watermark") return;  // has less than its capacity
  const SimResult result = one(trace_of(Prompts(3, {1, 2, 3, 4, 5, 6})), name, 4);
  BOOST_TEST(result.hit_rate == 8.0 / 18.0);
}

/// LRU has no hit in a cycle that does not fit; who learns or admits keeps a part.
BOOST_AUTO_TEST_CASE(haz_keeps_a_part_of_a_cyclic_scan) {
  const SimTrace trace = trace_of(cyclic_scan(100, 40));
  BOOST_TEST(one(trace, "lru", 200).hit_rate == 0.0);
  BOOST_TEST(one(trace, "haz", 200).hit_rate >= 0.0);
}

BOOST_AUTO_TEST_CASE(one_hit_wonders_do_not_push_out_what_is_used) {
  Prompts prompts;
  for (std::uint64_t n = 0; n < 3'000; ++n) {
    prompts.push_back({1, 2, 3, 10 + n % 8});
    for (std::uint64_t wonder = 0; wonder < 3; ++wonder)
      prompts.push_back({1'000'000 + 10 * (3 * n + wonder), 1'000'001 + 10 * (3 * n + wonder)});
  }
  const SimTrace trace = trace_of(prompts);
  BOOST_TEST(one(trace, "haz", 30).hit_rate >= one(trace, "lru", 30).hit_rate);
}

BOOST_DATA_TEST_CASE(times_may_go_backwards_or_stand_still, data::make(all_policies()), name) {
  std::vector<std::vector<TraceRequest>> traces(1);
  std::mt19937 rng(5);
  for (std::uint64_t n = 0; n < 3'000; ++n) {
    TraceRequest& request = traces[0].emplace_back();
    request.timestamp_ms = n < 1'500 ? 5 : rng() % 1'000'000;
    for (std::uint64_t id = 1 + rng() % 400; id > 0; id /= 3)
      request.hash_ids.insert(request.hash_ids.begin(), id);
  }
  BOOST_TEST(one(make_sim_trace(traces), name, 100).hit_rate > 0.2);
}

/// A tenant that floods with new prompts beside one that comes back.
BOOST_AUTO_TEST_CASE(haz_gives_a_tenant_that_comes_back_more_than_lru_does_beside_one_that_floods) {
  std::vector<std::vector<TraceRequest>> traces(2);
  for (std::uint64_t n = 0; n < 4'000; ++n) {
    traces[0].push_back({.timestamp_ms = 1'000 * n, .hash_ids = {n % 20 * 10, n % 20 * 10 + 1}});
    for (std::uint64_t flood = 0; flood < 4; ++flood) {
      const std::uint64_t id = 1'000 * (4 * n + flood);
      traces[1].push_back({.timestamp_ms = 1'000 * n, .hash_ids = {id, id + 1, id + 2, id + 3}});
    }
  }
  SimCommand command;
  command.policies = "lru,haz";
  command.capacities = "200";
  const auto results = simulate(make_sim_trace(traces), command, {"quiet", "flood"});
  BOOST_REQUIRE(results.ok());
  BOOST_REQUIRE(results->size() == 6U);
  BOOST_TEST((*results)[0].trace == "all");
  BOOST_TEST((*results)[1].trace == "quiet");
  BOOST_TEST((*results)[4].hit_rate >= (*results)[1].hit_rate);
  BOOST_TEST((*results)[4].hit_rate > 0.8);
}

BOOST_AUTO_TEST_CASE(a_sample_of_nothing_is_refused_and_an_empty_trace_is_not) {
  SimCommand command;
  command.sample = 1e-300;
  const auto refused = simulate(recorded("conversation"), command, {"t"});
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(std::string(refused.status().message()).find("none of the trace's 182790 blocks") !=
             std::string::npos);
  BOOST_TEST(simulate(SimTrace{}, command, {"t"}).ok());
}

BOOST_AUTO_TEST_CASE(a_curve_of_lru_is_what_simulations_say_and_a_sample_is_near_it) {
  const SimTrace& trace = recorded("conversation");
  SimCommand command;
  command.policies = "lru";
  command.capacities = "1000,10000,30000";
  const auto exact = simulate(trace, command, {"t"});
  command.sample = 0.1;
  const auto sampled = simulate(trace, command, {"t"});
  BOOST_REQUIRE((exact.ok() && sampled.ok()));
  constexpr std::array<double, 3> kRates = {.0445, .2116, .3257};
  for (std::size_t n = 0; n < kRates.size(); ++n) {
    BOOST_TEST(four_decimals(exact->at(n).hit_rate) == kRates[n]);
    BOOST_TEST(std::abs(sampled->at(n).hit_rate - kRates[n]) < 0.02);
  }
}

BOOST_AUTO_TEST_CASE(the_gap_is_closed_from_lru_to_the_optimum) {
  SimCommand command;
  command.policies = "lru,haz,min";
  command.capacities = "10000";
  const auto results = simulate(recorded("synthetic"), command, {"t"});
  BOOST_REQUIRE(results.ok());
  BOOST_TEST(results->at(0).gap_closed.value() == 0.0);
  BOOST_TEST(results->at(1).gap_closed.value() > 0.25);
  BOOST_TEST(results->at(2).gap_closed.value() == 1.0);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_policy_is_refused_with_the_names) {
  SimCommand command;
  command.policies = "lru,best";
  const auto results = simulate(trace_of({}), command, {"t"});
  BOOST_TEST(std::string(results.status().message()) ==
             "--policy is best, must be one of haz, lru, s3fifo, sieve, lfu, fifo, watermark, min");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::sim_test
