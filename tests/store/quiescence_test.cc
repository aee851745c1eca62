#include "store/quiescence.h"

#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace larder::quiescence_test {

BOOST_AUTO_TEST_SUITE(quiescence)

BOOST_AUTO_TEST_CASE(an_epoch_passes_when_every_online_reader_was_quiescent) {
  QuiescenceDomain domain;
  auto first = domain.register_reader();
  auto second = domain.register_reader();
  BOOST_REQUIRE(first.ok() && second.ok());

  const Epoch epoch = domain.advance();

  BOOST_TEST(!domain.passed(epoch));
  first->quiescent();
  BOOST_TEST(!domain.passed(epoch));
  second->quiescent();
  BOOST_TEST(domain.passed(epoch));
}

BOOST_AUTO_TEST_CASE(a_reader_offline_holds_nothing_up) {
  QuiescenceDomain domain;
  auto reader = domain.register_reader();
  BOOST_REQUIRE(reader.ok());

  reader->offline();
  const Epoch first = domain.advance();
  BOOST_TEST(domain.passed(first));
  reader->online();

  BOOST_TEST(domain.passed(first));
  BOOST_TEST(!domain.passed(domain.advance()));
}

BOOST_AUTO_TEST_CASE(a_destroyed_reader_gives_its_place_back) {
  QuiescenceDomain domain;
  std::vector<QuiescenceDomain::Reader> readers;
  for (std::uint32_t i = 0; i < QuiescenceDomain::kReadersMax; ++i) {
    auto reader = domain.register_reader();
    BOOST_REQUIRE(reader.ok());
    readers.push_back(*std::move(reader));
  }

  BOOST_TEST((domain.register_reader().status().code() == absl::StatusCode::kResourceExhausted));
  readers.pop_back();

  BOOST_TEST(domain.register_reader().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::quiescence_test
