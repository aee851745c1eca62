#include "actors/refusal_log.h"

#include <chrono>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace larder::refusal_log_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(refusal_log)

BOOST_AUTO_TEST_CASE(a_flood_is_counted_and_not_written) {
  std::vector<std::string> lines;
  RefusalLog log([&lines](const std::string& line) { lines.push_back(line); });
  const Time start = Time(seconds(100));

  for (int n = 0; n < 1000; ++n)
    log.add(start + milliseconds(n / 2), "refused");
  log.on_time(start + milliseconds(999));
  BOOST_TEST(lines.size() == RefusalLog::kPerSecond);

  log.on_time(start + milliseconds(1000));
  BOOST_TEST(lines.size() == RefusalLog::kPerSecond + 1);
  BOOST_TEST(lines.back() == "audit_refused left_out=990");
  log.on_time(start + seconds(5));
  BOOST_TEST(lines.size() == RefusalLog::kPerSecond + 1);

  log.add(start + seconds(6), "again");
  BOOST_TEST(lines.back() == "again");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::refusal_log_test
