#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/session_layer_put.h"

namespace larder::layer_put_test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(coverage)

BOOST_AUTO_TEST_CASE(a_gap_is_not_complete) {
  Coverage covered;
  BOOST_TEST(covered.add(0, 10));
  BOOST_TEST(covered.add(11, 20));
  BOOST_TEST(!covered.complete(20));
  BOOST_TEST(covered.add(10, 11));
  BOOST_TEST(covered.complete(20));
  BOOST_TEST(!covered.complete(21));
}

BOOST_AUTO_TEST_CASE(nothing_is_complete_without_the_first_byte) {
  Coverage covered;
  BOOST_TEST(covered.add(1, 100));
  BOOST_TEST(!covered.complete(100));
}

BOOST_AUTO_TEST_CASE(ranges_are_bounded) {
  Coverage covered;
  bool accepted = true;
  for (std::uint64_t n = 0; n <= Coverage::kRangesMax; ++n)
    accepted = covered.add(2 * n, 2 * n + 1);
  BOOST_TEST(!accepted);
}

BOOST_DATA_TEST_CASE(agrees_with_a_bitmap, data::xrange(200), seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  Coverage covered;
  std::vector<bool> bytes(64, false);
  for (int n = 0; n < 24; ++n) {
    const std::uint64_t begin = rng() % 64;
    const std::uint64_t end = begin + rng() % (65 - begin);
    BOOST_TEST(covered.add(begin, end));
    for (std::uint64_t i = begin; i < end; ++i)
      bytes[i] = true;
    BOOST_TEST(covered.complete(64) ==
               std::all_of(bytes.begin(), bytes.end(), [](bool b) { return b; }));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::layer_put_test
