#include "store/found_blocks.h"

#include <algorithm>
#include <random>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::found_blocks_test {

BOOST_AUTO_TEST_SUITE(found_blocks)

BOOST_DATA_TEST_CASE(come_out_in_order_however_they_came_in, boost::unit_test::data::xrange(50),
                     seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  FoundBlocks found;
  std::vector<FoundBlock> all;
  const std::size_t count = random() % 2 == 0 ? random() % 100 : random() % 50'000;
  for (std::size_t n = 0; n < count; ++n) {
    const FoundBlock block{.age = static_cast<std::uint32_t>(random() % 3),
                           .position = static_cast<std::uint32_t>(random() % 100),
                           .id = EntryId(static_cast<std::uint32_t>(random()))};
    all.push_back(block);
    found.add(block);
  }
  found.close();
  std::sort(all.begin(), all.end());
  for (const FoundBlock& block : all) {
    BOOST_REQUIRE(!found.empty());
    BOOST_REQUIRE((found.take_first() == block));
  }
  BOOST_TEST(found.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::found_blocks_test
