#include "ops/trace_reader.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <zstd.h>

#include "tests/temp_dir.h"

namespace larder::trace_reader_test {
namespace {

const std::string kGood =
    R"({"timestamp": 7, "input_length": 600, "output_length": 5, "hash_ids": [3, 4]})";

std::string compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string error_of(const std::string& text) {
  const test::TempDir directory;
  const auto trace = read_trace(directory.file("t", text), 0);
  const std::string message(trace.status().message());
  return message.substr(std::min(message.size(), directory.path().size() + 3));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trace_reader)

BOOST_AUTO_TEST_CASE(reads_every_field_and_skips_unknown_ones_and_blank_lines) {
  const test::TempDir directory;
  const std::string path = directory.file(
      "t",
      kGood + "\n\n" +
          R"({"more": [1], "hash_ids": [], "output_length": 0, "input_length": 0, "timestamp": 9})");

  const auto trace = read_trace(path, 0);

  BOOST_REQUIRE(trace.ok());
  BOOST_REQUIRE(trace->size() == 2U);
  BOOST_TEST((*trace)[0].timestamp_ms == 7U);
  BOOST_TEST((*trace)[0].input_length == 600U);
  BOOST_TEST((*trace)[0].output_length == 5U);
  BOOST_TEST((*trace)[0].hash_ids == (std::vector<std::uint64_t>{3, 4}),
             boost::test_tools::per_element());
  BOOST_TEST((*trace)[1].timestamp_ms == 9U);
  BOOST_TEST((*trace)[1].hash_ids.empty());
}

BOOST_AUTO_TEST_CASE(stops_at_the_limit) {
  const test::TempDir directory;
  const auto trace = read_trace(directory.file("t", kGood + "\n" + kGood + "\nbroken\n"), 2);
  BOOST_REQUIRE(trace.ok());
  BOOST_TEST(trace->size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_compressed_trace_reads_like_a_plain_one) {
  const test::TempDir directory;
  std::string text;
  for (int n = 0; n < 20'000; ++n) {  // several reads and several output buffers
    text += R"({"timestamp": )" + std::to_string(n) +
            R"(, "input_length": 1, "output_length": 1, "hash_ids": [)" +
            std::to_string(n * 7919LL % 10'007) + "]}\n";
  }
  // Two frames, as `cat a.zst b.zst` makes.
  const std::string path = directory.file("t", compressed(text) + compressed(kGood + "\n"));

  const auto trace = read_trace(path, 0);

  BOOST_REQUIRE(trace.ok());
  BOOST_REQUIRE(trace->size() == 20'001U);
  BOOST_TEST((*trace)[19'999].timestamp_ms == 19'999U);
  BOOST_TEST((*trace)[20'000].input_length == 600U);
}

BOOST_AUTO_TEST_CASE(a_truncated_or_damaged_compressed_trace_is_an_error) {
  const test::TempDir directory;
  std::string whole = compressed(kGood + "\n" + kGood + "\n");
  const auto cut = read_trace(directory.file("cut", whole.substr(0, whole.size() - 3)), 0);
  whole[whole.size() / 2] = static_cast<char>(whole[whole.size() / 2] ^ 0x55);
  whole[6] = static_cast<char>(whole[6] ^ 0x55);
  const auto damaged = read_trace(directory.file("damaged", whole), 0);

  BOOST_TEST(cut.status().code() == absl::StatusCode::kDataLoss);
  BOOST_TEST(!damaged.ok());
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_named) {
  const auto trace = read_trace("/nowhere/trace.jsonl", 0);
  BOOST_TEST(trace.status().code() == absl::StatusCode::kNotFound);
  BOOST_TEST(std::string(trace.status().message()) ==
             "/nowhere/trace.jsonl: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_broken_line_is_named_by_its_number) {
  BOOST_TEST(error_of(kGood + "\n\n{broken\n") == "3: not JSON");
  BOOST_TEST(error_of(kGood + "\n[1]\n") == "2: not a JSON object");
  BOOST_TEST(error_of(R"({"timestamp": 1})") == "1: no input_length");
}

BOOST_AUTO_TEST_CASE(a_field_out_of_bounds_is_named_with_value_and_bound) {
  const auto with = [](const std::string& timestamp, const std::string& input,
                       const std::string& ids) {
    return R"({"timestamp": )" + timestamp + R"(, "input_length": )" + input +
           R"(, "output_length": 1, "hash_ids": )" + ids + "}";
  };
  BOOST_TEST(error_of(with("1", "-5", "[]")) ==
             "1: input_length is -5, must be a whole number of 0 or more");
  BOOST_TEST(error_of(with("1", "268435457", "[]")) ==
             "1: input_length is 268435457, must be at most 268435456");
  BOOST_TEST(error_of(with("\"x\"", "1", "[]")) ==
             "1: timestamp is \"x\", must be a whole number of 0 or more");
  BOOST_TEST(error_of(with("1", "1", "7")) == "1: hash_ids is not an array");
  BOOST_TEST(error_of(with("1", "1", "[1, 2.5]")) ==
             "1: hash_ids[1] is not a whole number of 0 or more");
  std::string many = "[0";
  for (int n = 0; n < 262'144; ++n)
    many += ",0";
  BOOST_TEST(error_of(with("1", "1", many + "]")) ==
             "1: hash_ids has 262145 elements, must be at most 262144");
}

BOOST_AUTO_TEST_CASE(a_line_without_end_is_an_error_not_memory) {
  BOOST_TEST(error_of(kGood + "\n" + std::string(17 << 20, 'x')) ==
             "2: line is longer than 16777216 bytes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::trace_reader_test
