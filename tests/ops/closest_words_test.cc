#include "ops/closest_words.h"

#include <boost/test/unit_test.hpp>

namespace larder::closest_words_test {

namespace {

using Words = std::vector<std::string>;

const Words kCommands{"status", "top", "put", "get", "ls", "rm", "pin", "unpin"};

}  // namespace

BOOST_AUTO_TEST_SUITE(nearest_words)

BOOST_AUTO_TEST_CASE(the_fewest_edits_win) {
  BOOST_TEST((closest_words("statsu", kCommands) == Words{"status"}));
  BOOST_TEST((closest_words("liszt", kCommands) == Words{"ls"}));
  BOOST_TEST((closest_words("unpim", kCommands) == Words{"unpin"}));
}

BOOST_AUTO_TEST_CASE(those_that_are_equally_near_come_in_their_order) {
  BOOST_TEST((closest_words("pet", kCommands) == Words{"put", "get"}));
}

BOOST_AUTO_TEST_CASE(what_is_far_from_all_has_none) {
  BOOST_TEST(closest_words("defragment", kCommands).empty());
  BOOST_TEST(closest_words("", kCommands).empty());
  BOOST_TEST(closest_words("x", kCommands).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::closest_words_test
