#include "ops/lru_curve.h"

#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "ops/sim_cache.h"
#include "policies/lru_policy.h"

namespace larder::lru_curve_test {
namespace {

SimTrace random_trace(unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::vector<TraceRequest>> traces(1);
  for (int n = 0; n < 300; ++n) {
    TraceRequest& request = traces[0].emplace_back();
    for (std::uint64_t id = 1 + rng() % 500; id > 0; id /= 3)
      request.hash_ids.insert(request.hash_ids.begin(), id);
    if (rng() % 20 == 0) request.hash_ids.clear();
    if (rng() % 20 == 0 && !request.hash_ids.empty())
      request.hash_ids.push_back(request.hash_ids[0]);  // odd, but a trace may say so
  }
  return make_sim_trace(traces);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lru_curve)

BOOST_DATA_TEST_CASE(equals_a_simulation_at_every_capacity, boost::unit_test::data::xrange(10),
                     seed) {
  const SimTrace trace = random_trace(static_cast<unsigned>(seed));
  const LruCurve curve(trace);
  BOOST_TEST(curve.references() == trace.references());
  for (std::uint64_t capacity = 10; capacity < trace.unique + 10; capacity += 13) {
    std::vector<std::unique_ptr<EvictionPolicy>> policies;
    policies.push_back(std::make_unique<LruPolicy>());
    SimCache cache(trace, {.capacity = {capacity}}, std::move(policies));
    for (std::uint32_t n = 0; n < trace.requests.size(); ++n)
      cache.serve(n, std::nullopt);

    BOOST_TEST(curve.hits(capacity) == cache.counts().hits);
    BOOST_TEST(curve.inserts(capacity) == cache.counts().inserts + cache.counts().refused);
    BOOST_TEST(curve.evictions(capacity) == cache.counts().evictions);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_trace_has_no_hits) {
  const LruCurve curve(make_sim_trace({}));
  BOOST_TEST(curve.hits(10) == 0U);
  BOOST_TEST(curve.inserts(10) == 0U);
  BOOST_TEST(curve.evictions(10) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::lru_curve_test
