#include "store/utf8.h"

#include <string>

#include <boost/test/unit_test.hpp>

namespace larder::utf8_test {
namespace {

using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(texts_of_every_length_of_character_are_utf8) {
  for (const auto& text : {""s, "a\0b"s, "caf\xc3\xa9"s, "\xe2\x82\xac"s, "\xf0\x9f\x98\x80"s,
                           "\xed\x9f\xbf\xee\x80\x80"s, "\xf4\x8f\xbf\xbf"s})
    BOOST_TEST(is_utf8(text));
}

BOOST_AUTO_TEST_CASE(torn_overlong_surrogate_and_too_large_are_not) {
  for (const auto& text :
       {"caf\xe9"s, "\x80"s, "\xc3"s, "\xe2\x82"s, "\xc3("s, "\xc0\x80"s, "\xe0\x80\x80"s,
        "\xf0\x80\x80\x80"s, "\xed\xa0\x80"s, "\xf4\x90\x80\x80"s, "\xff"s})
    BOOST_TEST(!is_utf8(text));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace larder::utf8_test
