#include "client/copy_pace.h"

#include <chrono>
#include <cstdint>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace larder::copy_pace_test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMib = 1 << 20;

void learn_many(CopyPace& pace, std::uint64_t bytes, Duration residence) {
  for (int n = 0; n < 64; ++n)
    pace.learn(bytes, residence);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(copy_pace)

BOOST_AUTO_TEST_CASE(it_learns_what_a_byte_takes_and_expects_as_much_of_other_sizes) {
  CopyPace pace;
  for (const auto took : {microseconds(100), microseconds(1000), microseconds(50)}) {
    learn_many(pace, kMib, took);
    BOOST_TEST((pace.expected(kMib) <= took * 101 / 100));
    BOOST_TEST((pace.expected(kMib) >= took * 99 / 100));
    BOOST_TEST((pace.expected(16 * kMib) > 10 * (took - microseconds(30))));
  }
  BOOST_TEST((pace.expected(0) < microseconds(50)));
}

BOOST_AUTO_TEST_CASE(one_put_that_waited_for_room_hardly_counts) {
  CopyPace pace;
  learn_many(pace, kMib, microseconds(200));
  const Duration before = pace.expected(kMib);
  pace.learn(kMib, seconds(60));
  BOOST_TEST((pace.expected(kMib) < before * 9 / 8));
  learn_many(pace, kMib, seconds(60));
  BOOST_TEST((pace.expected(kMib) < std::chrono::milliseconds(5)));  // 250 MB/s at the slowest
}

BOOST_AUTO_TEST_CASE(what_tells_nothing_changes_nothing) {
  CopyPace pace;
  const Duration before = pace.expected(kMib);
  learn_many(pace, 4096, microseconds(500));
  learn_many(pace, kMib, Duration(0));
  learn_many(pace, kMib, Duration(std::numeric_limits<Duration::rep>::min()));
  BOOST_TEST((pace.expected(kMib) == before));
  pace.learn(std::numeric_limits<std::uint64_t>::max(),
             Duration(std::numeric_limits<Duration::rep>::max()));
  BOOST_TEST((pace.expected(kMib) > Duration(0)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::copy_pace_test
