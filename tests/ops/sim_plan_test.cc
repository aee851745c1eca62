#include "ops/sim_plan.h"

#include <boost/test/unit_test.hpp>

#include "ops/curve_plot.h"

namespace larder::sim_plan_test {
namespace {

SimTrace trace_of(const std::vector<std::vector<std::uint64_t>>& prompts) {
  std::vector<std::vector<TraceRequest>> traces(1);
  for (const auto& ids : prompts)
    traces[0].push_back({.timestamp_ms = traces[0].size(), .hash_ids = ids});
  return make_sim_trace(traces);
}

std::string capacity_error(const std::string& text) {
  return std::string(parse_capacities(text, Bytes{1 << 20}, 100).status().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_plan)

BOOST_AUTO_TEST_CASE(capacities_are_blocks_bytes_or_points_of_a_curve) {
  const auto listed = parse_capacities("300,1GiB,20", Bytes{1 << 20}, 100);
  BOOST_REQUIRE(listed.ok());
  BOOST_TEST(*listed == (std::vector<std::uint64_t>{20, 300, 1024}),
             boost::test_tools::per_element());
  const auto curve = parse_capacities("curve:3", Bytes{1}, 1'000);
  BOOST_REQUIRE(curve.ok());
  BOOST_TEST(*curve == (std::vector<std::uint64_t>{10, 100, 1'000}),
             boost::test_tools::per_element());
  BOOST_TEST(parse_capacities("curve:50", Bytes{1}, 0)->size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_wrong_capacity_is_named) {
  BOOST_TEST(capacity_error("5,x") ==
             "--capacity x: must be blocks (1 to 1099511627776), bytes with a unit (at least a "
             "block's, 1048576), or curve:N");
  BOOST_TEST(capacity_error("0").starts_with("--capacity 0: must be blocks"));
  BOOST_TEST(capacity_error("1KiB").starts_with("--capacity 1KiB: must be blocks"));
  BOOST_TEST(capacity_error("curve:0") ==
             "--capacity curve:0: must be curve:N, with N from 1 to 1000");
}

BOOST_AUTO_TEST_CASE(hints_are_parsed_or_refused) {
  BOOST_TEST(parse_hints("oracle:0.1")->wrong == 0.1);
  BOOST_TEST(parse_hints("oracle:1:77")->seed == 77U);
  for (const char* text : {"oracle", "oracle:2", "oracle:-1", "oracle:x", "true:0.1", "oracle:0:a"})
    BOOST_TEST(!parse_hints(text).ok(), text);
}

BOOST_AUTO_TEST_CASE(a_right_hint_counts_the_leading_positions_that_come_again) {
  const SimTrace trace = trace_of({{1, 2, 3, 4}, {1, 2, 9}, {1}, {}});
  BOOST_TEST(make_hints(trace, {}) == (std::vector<std::uint32_t>{2, 1, 0, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_wrong_hint_says_the_contrary_and_equal_seeds_say_the_same) {
  const SimTrace trace = trace_of({{1, 2, 3, 4}, {1, 2, 9}, {1}, {}});
  BOOST_TEST(make_hints(trace, {.wrong = 1}) == (std::vector<std::uint32_t>{1, 3, 1, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(
      make_hints(trace, {.wrong = 0.5, .seed = 3}) == make_hints(trace, {.wrong = 0.5, .seed = 3}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_sample_keeps_whole_blocks_in_order) {
  std::vector<std::vector<std::uint64_t>> prompts;
  for (std::uint64_t n = 0; n < 1'000; ++n)
    prompts.push_back({0, 10 * n + 10, 10 * n + 11, 10 * n + 12});
  const SimTrace whole = trace_of(prompts);
  const SimTrace part = sample(whole, 0.25);
  BOOST_TEST(part.unique > 600U);
  BOOST_TEST(part.unique < 900U);
  for (const SimTrace::Request& request : part.requests) {
    BOOST_REQUIRE(request.count > 0);
    for (const std::uint32_t block : part.blocks_of(request))
      BOOST_REQUIRE(block < part.unique);
  }
  BOOST_TEST(sample(whole, 1).references() == whole.references());
}

BOOST_AUTO_TEST_CASE(traces_that_play_together_are_merged_by_time_and_share_no_block) {
  std::vector<std::vector<TraceRequest>> traces(2);
  traces[0] = {{.timestamp_ms = 5, .hash_ids = {1}},
               {.timestamp_ms = 3, .hash_ids = {2}},
               {.timestamp_ms = 9, .hash_ids = {1}}};
  traces[1] = {{.timestamp_ms = 4, .hash_ids = {1}}};
  const SimTrace trace = make_sim_trace(traces);
  std::vector<std::uint32_t> tenants;
  for (const SimTrace::Request& request : trace.requests)
    tenants.push_back(request.tenant);
  BOOST_TEST(tenants == (std::vector<std::uint32_t>{1, 0, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST(trace.requests[2].time_ms == 3U);  // in its own trace's order
  BOOST_TEST(trace.unique == 3U);
}

BOOST_AUTO_TEST_CASE(a_plot_is_one_file_that_asks_nothing_of_the_network_and_shows_names_as_text) {
  const std::string html =
      plot_html("a <b>", {{"lru", {{10, 0.9}, {1'000, 0.5}}}, {"<script>", {{10, 0.8}}}});
  BOOST_TEST(html.find("<svg") != std::string::npos);
  BOOST_TEST(html.find("http") == std::string::npos);
  BOOST_TEST(html.find("<script") == std::string::npos);
  BOOST_TEST(html.find("lru: 1000 blocks, miss 0.5000") != std::string::npos);
  BOOST_TEST(plot_html("empty", {}).find("nan") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::sim_plan_test
