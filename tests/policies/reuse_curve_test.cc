#include "policies/reuse_curve.h"

#include <cmath>
#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::reuse_curve_test {
namespace {

constexpr std::size_t at(int bin) {
  return static_cast<std::size_t>(bin);
}

/// As the definition says: every horizon of every bin.
float naive_value(const Hazard& hazard, int from) {
  double waiting = 1, kept = 0, best = 0;
  for (int bin = from; bin < kAgeBins; ++bin) {
    const double rate = hazard.rate[at(bin)];
    const double width = age_edge(bin + 1) - age_edge(bin);
    kept += waiting * (1 - std::exp(-rate * width)) / rate;
    waiting *= std::exp(-rate * width);
    best = std::max(best, (1 - waiting) / kept);
  }
  return static_cast<float>(best);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reuse_curve)

BOOST_AUTO_TEST_CASE(every_age_falls_between_its_bins_edges) {
  for (float age = 0; age < 200'000; age = age * 1.01F + 0.01F) {
    const int bin = age_bin(age);
    BOOST_REQUIRE(age >= age_edge(bin) * 0.9999F);
    BOOST_REQUIRE((bin == kAgeBins - 1 || age <= age_edge(bin + 1) * 1.0001F));
  }
  BOOST_TEST(age_bin(-1) == 0);
  BOOST_TEST(age_bin(std::nanf("")) == 0);
  BOOST_TEST(age_bin(1e30F) == kAgeBins - 1);
}

BOOST_DATA_TEST_CASE(values_are_the_best_of_all_horizons, boost::unit_test::data::xrange(50),
                     seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> exponent(-5, -1);
  Hazard hazard;
  for (float& rate : hazard.rate)
    rate = std::pow(10.0F, exponent(rng)) / 10;
  const AgeRow values = hazard.values();
  for (int bin = 0; bin < 16; ++bin) {  // beyond, too few are waiting to tell
    BOOST_TEST(values[at(bin)] == naive_value(hazard, bin), boost::test_tools::tolerance(1e-3F));
  }
}

BOOST_AUTO_TEST_CASE(what_dies_out_is_worth_less_with_age) {
  const AgeRow values = Hazard::prior().values();
  for (int bin = 1; bin < kAgeBins; ++bin)
    BOOST_TEST(values[at(bin)] < values[at(bin - 1)]);
}

BOOST_AUTO_TEST_CASE(to_insert_costs_so_a_new_block_is_worth_less_than_one_that_is_there) {
  const Hazard hazard = Hazard::prior();
  BOOST_TEST(hazard.value_of_new(0) >= hazard.value_of_new(10));
  BOOST_TEST(hazard.value_of_new(0) == hazard.values()[0], boost::test_tools::tolerance(1e-4F));
}

/// A thousand blocks reused at a constant rate, watched for a minute, teach that rate.
BOOST_AUTO_TEST_CASE(an_estimate_finds_the_rate_of_what_was_seen_and_counts_those_still_waiting) {
  std::mt19937 rng(1);
  std::exponential_distribution<float> ages(0.02F);
  ReuseCounts counts, alive;
  for (int n = 0; n < 20'000; ++n) {
    const float age = ages(rng);
    if (age < 60) {
      counts.end(age, 1);
      counts.reuse(age, 1);
    } else {
      alive.end(60, 1);
    }
  }
  const Hazard hazard = Hazard::estimate(risk_of(counts, alive), Hazard::prior());
  for (int bin = 0; age_edge(bin + 1) < 60; ++bin)
    BOOST_TEST(hazard.rate[at(bin)] == 0.02F, boost::test_tools::tolerance(0.25F));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::reuse_curve_test
