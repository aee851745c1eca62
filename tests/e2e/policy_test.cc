// The daemon runs the objects that larder sim runs: by a trace's own time both hit the same.

#include <cmath>
#include <cstdlib>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "tests/e2e/daemon.h"

namespace larder::policy_test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kBlock = 4'096;
constexpr std::uint64_t kCapacity = 8'000;
constexpr int kRequests = 3'000;
const std::string kTrace = LARDER_TRACES "/synthetic_trace.jsonl.zst";

double number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\"" + name + "\":");
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, name << " in " << text);
  return std::strtod(text.c_str() + at + name.size() + 3, nullptr);
}

struct Hits {
  double hits, references;
  double rate() const { return hits / references; }
};

double simulated(const std::string& policy) {
  const sim::Finished done =
      sim::run_program({sim::built("larder"), "sim", "--json", "--policy", policy, "--capacity",
                        std::to_string(kCapacity), "--limit", std::to_string(kRequests), kTrace},
                       seconds(60));
  BOOST_REQUIRE_MESSAGE(done.status == 0, done.output);
  return number_after(done.output, "hit_rate");
}

Hits replayed(const std::string& policy, std::uint32_t shards) {
  const sim::Daemon daemon({.host_bytes = Bytes{kCapacity * kBlock},
                            .shards = shards,
                            .flags = {"--policy", policy, "--allow-trace-time"},
                            .environment = {},
                            .program = {}});
  const sim::Finished done =
      sim::run_program({sim::built("larder"), "replay", "--json", "--no-progress", "--trace-time",
                        "--block-bytes", std::to_string(kBlock), "--limit",
                        std::to_string(kRequests), "--server", daemon.socket(), kTrace},
                       seconds(120));
  BOOST_REQUIRE_MESSAGE(done.status == 0, done.output);
  BOOST_TEST(number_after(done.output, "wrong_bytes") == 0);
  return {number_after(done.output, "hit_references"), number_after(done.output, "references")};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_policy)

BOOST_DATA_TEST_CASE(one_shard_hits_what_the_simulator_hits,
                     boost::unit_test::data::make({"haz", "lru"}), policy) {
  const Hits real = replayed(policy, 1);
  const double expected = std::round(simulated(policy) * real.references);
  // A match reads when blocks were last used before the shard has heard, on a busy machine, that
  // the request before has ended; LRU does not ask for that.
  const double busy = std::string(policy) == "lru" ? 0 : 20;
  BOOST_TEST(std::abs(real.hits - expected) <= busy, real.hits << " hits, simulated " << expected);
}

/// What is learned is shared, but each shard looks for the cheapest of its own blocks, and knows
/// children that stand in it.
BOOST_DATA_TEST_CASE(many_shards_keep_most_of_what_it_gains,
                     boost::unit_test::data::make({2U, 16U}), shards) {
  const double lru = simulated("lru");
  const double haz = simulated("haz");
  const double real = replayed("haz", shards).rate();
  BOOST_TEST(real > lru + (haz - lru) / 2,
             real << " in larderd, simulated: " << haz << ", LRU " << lru);
}

/// What shards say of their cheapest block has to mean the same in all of them.
BOOST_DATA_TEST_CASE(no_policy_falls_apart_over_shards,
                     boost::unit_test::data::make({"s3fifo", "sieve", "lfu", "fifo"}), policy) {
  const double real = replayed(policy, 4).rate();
  const double alone = simulated(policy);
  BOOST_TEST(real > 0.9 * alone, real << " in larderd, simulated: " << alone);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::policy_test
