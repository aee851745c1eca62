#include "ops/trace_csv.h"

#include <boost/test/unit_test.hpp>

#include "tests/temp_dir.h"

namespace larder::trace_csv_test {
namespace {

std::string error_of(const std::string& line) {
  return std::string(parse_csv_line(line).status().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trace_csv)

BOOST_AUTO_TEST_CASE(a_file_with_the_header_is_read_as_csv) {
  const test::TempDir directory;
  const auto trace = read_trace(directory.file("t",
                                               "timestamp,input_length,output_length,hash_ids\r\n"
                                               "7,600,5,3 18446744073709551615\n\n9,0,0,\n"),
                                0);

  BOOST_REQUIRE(trace.ok());
  BOOST_REQUIRE(trace->size() == 2U);
  BOOST_TEST((*trace)[0].timestamp_ms == 7U);
  BOOST_TEST((*trace)[0].input_length == 600U);
  BOOST_TEST((*trace)[0].output_length == 5U);
  BOOST_TEST((*trace)[0].hash_ids == (std::vector<std::uint64_t>{3, ~0ULL}),
             boost::test_tools::per_element());
  BOOST_TEST((*trace)[1].hash_ids.empty());
}

BOOST_AUTO_TEST_CASE(a_broken_line_is_named_by_its_number) {
  const test::TempDir directory;
  const auto trace = read_trace(
      directory.file("t", "timestamp,input_length,output_length,hash_ids\n1,2,3,4\n1,2,x,4\n"), 0);
  const std::string message(trace.status().message());
  BOOST_TEST(message.ends_with("t:3: output_length is x, must be a whole number of 0 or more"));
}

BOOST_AUTO_TEST_CASE(a_wrong_field_is_named) {
  BOOST_TEST(error_of("1,2") == "2 fields, must be 4");
  BOOST_TEST(error_of("-1,2,3,4") == "timestamp is -1, must be a whole number of 0 or more");
  BOOST_TEST(error_of("1,268435457,3,4") == "input_length is 268435457, must be at most 268435456");
  BOOST_TEST(error_of("1,2,3,4 b") == "hash_ids[1] is b, must be a whole number of 0 or more");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::trace_csv_test
