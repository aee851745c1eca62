#include "tests/client/conformance.h"

#include <boost/test/data/test_case.hpp>

#include "tests/client/fixture.h"

namespace larder::conformance_test {

using sim::Path;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(conformance)

BOOST_DATA_TEST_CASE(blocks_come_back_as_they_went, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(5));
  sim::round_trip(*pair.client, 1, 1, 256);
  sim::round_trip(*pair.client, 2, 16, 1000);
  sim::round_trip(*pair.client, 3, 3, 70'000);
  sim::round_trip(*pair.client, 4, 4, 5'000'001);
  sim::round_trip(*pair.client, 5, 1, 16 << 20);
  sim::round_trip(*pair.client, 6, 500, 4096);
}

BOOST_DATA_TEST_CASE(each_key_has_its_own_answer, data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  sim::mixed_batch(*pair.client);
}

BOOST_DATA_TEST_CASE(match_sees_what_is_there, data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  sim::match_and_remove(*pair.client);
}

BOOST_DATA_TEST_CASE(flat_names_work, data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  sim::flat_names(*pair.client);
}

BOOST_DATA_TEST_CASE(every_submission_ends_once, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(5));
  sim::submitted(*pair.client);
}

BOOST_DATA_TEST_CASE(layers_become_visible_together, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(5));
  sim::layer_by_layer(*pair.client, 3'000'000);
}

BOOST_DATA_TEST_CASE(layers_of_some_blocks_leave_the_others_alone, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(5));
  sim::layers_of_some(*pair.client, 20'000);
}

BOOST_DATA_TEST_CASE(threads_share_a_client, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(5));
  sim::many_threads(*pair.client, 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::conformance_test
