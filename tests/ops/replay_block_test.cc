#include "ops/replay_block.h"

#include <random>
#include <set>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "ops/percentile.h"

namespace larder::replay_block_test {
namespace {

std::vector<std::byte> block_of(std::uint64_t id, std::size_t bytes) {
  std::vector<std::byte> block(bytes);
  fill_block(replay_hash(id), block);
  return block;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replay_block)

BOOST_AUTO_TEST_CASE(ids_give_different_hashes_in_both_halves) {
  std::set<std::uint64_t> high, low;
  for (std::uint64_t id = 0; id < 200'000; ++id) {
    high.insert(replay_hash(id).high);
    low.insert(replay_hash(id).low);
  }
  BOOST_TEST(high.size() == 200'000U);
  BOOST_TEST(low.size() == 200'000U);
}

BOOST_DATA_TEST_CASE(what_was_filled_is_right_at_any_length, boost::unit_test::data::xrange(60),
                     seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  const auto block = block_of(7, rng() % 20'000);
  BOOST_TEST(count_wrong_bytes(replay_hash(7), block) == 0U);
}

BOOST_DATA_TEST_CASE(each_changed_byte_is_counted, boost::unit_test::data::xrange(60), seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  auto block = block_of(7, 1 + rng() % 20'000);
  std::set<std::size_t> places;
  for (int n = 0; n < 1 + seed; ++n)
    places.insert(rng() % block.size());
  for (const std::size_t place : places)
    block[place] ^= std::byte{1};

  BOOST_TEST(count_wrong_bytes(replay_hash(7), block) == places.size());
}

BOOST_AUTO_TEST_CASE(another_blocks_bytes_and_shifted_bytes_are_wrong) {
  auto block = block_of(7, 65'536);
  BOOST_TEST(count_wrong_bytes(replay_hash(8), block) > 65'000U);

  std::rotate(block.begin(), block.begin() + 8, block.end());
  BOOST_TEST(count_wrong_bytes(replay_hash(7), block) > 65'000U);
}

BOOST_AUTO_TEST_CASE(percentiles_are_exact) {
  std::vector<float> values;
  for (int n = 100; n >= 0; --n)
    values.push_back(static_cast<float>(n));
  BOOST_TEST(percentile(values, 50) == 50.0);
  BOOST_TEST(percentile(values, 99) == 99.0);
  BOOST_TEST(percentile(values, 0) == 0.0);
  BOOST_TEST(percentile(values, 100) == 100.0);
  BOOST_TEST(percentile({3.0F}, 99) == 3.0);
  BOOST_TEST(percentile({}, 50) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::replay_block_test
