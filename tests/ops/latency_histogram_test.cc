#include "actors/latency_histogram.h"

#include <boost/test/unit_test.hpp>

namespace larder::latency_histogram_test {

using std::chrono::microseconds;

BOOST_AUTO_TEST_SUITE(latency_histogram)

BOOST_AUTO_TEST_CASE(a_bound_belongs_to_its_own_bucket_and_what_is_longer_to_the_next) {
  for (std::size_t i = 0; i < LatencyHistogram::kBounds; ++i) {
    const Duration bound = LatencyHistogram::bound(i);
    BOOST_TEST(LatencyHistogram::bucket_of(bound) == i);
    BOOST_TEST(LatencyHistogram::bucket_of(bound + Duration(1)) == i + 1);
  }
  BOOST_TEST(LatencyHistogram::bucket_of(Duration(0)) == 0U);
  BOOST_TEST(LatencyHistogram::bucket_of(Duration(-1)) == 0U);
  BOOST_TEST(LatencyHistogram::bucket_of(Duration::max()) == LatencyHistogram::kBounds);
}

BOOST_AUTO_TEST_CASE(what_is_added_is_counted_once_and_summed) {
  LatencyHistogram histogram;
  histogram.add(microseconds(3));
  histogram.add(microseconds(4));
  histogram.add(std::chrono::hours(1));

  BOOST_TEST(histogram.count(2) == 2U);
  BOOST_TEST(histogram.count(LatencyHistogram::kBounds) == 1U);
  BOOST_TEST((histogram.sum() == std::chrono::hours(1) + microseconds(7)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::latency_histogram_test
