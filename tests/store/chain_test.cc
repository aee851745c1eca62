#include "store/chain.h"

#include <set>
#include <string>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::chain_test {
namespace {

std::string bytes_of(unsigned char from, std::size_t count) {
  std::string out;
  for (std::size_t n = 0; n < count; ++n)
    out.push_back(static_cast<char>(from + n));
  return out;
}

std::vector<BlockHash> chain_of(std::uint32_t units) {
  std::vector<BlockHash> chain;
  for (std::uint64_t n = 0; n < units; ++n)
    chain.push_back({n * 0x9e3779b97f4a7c15ULL, n});
  return chain;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chain)

BOOST_AUTO_TEST_CASE(runs_start_at_0_1_2_4_8_and_then_at_every_segment) {
  std::set<std::uint32_t> starts;
  for (std::uint32_t position = 0; position < 100; ++position) {
    starts.insert(run_start(position, 32));
  }

  const std::set<std::uint32_t> expected{0, 1, 2, 4, 8, 16, 32, 64, 96};
  BOOST_TEST(starts == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_segment_of_one_unit_makes_every_unit_its_own_run) {
  for (std::uint32_t position = 0; position < 10; ++position) {
    BOOST_TEST(run_start(position, 1) == position);
  }
}

BOOST_DATA_TEST_CASE(a_run_begins_at_or_before_each_of_its_positions,
                     boost::unit_test::data::xrange(14), log2_units) {
  const std::uint32_t units = 1U << log2_units;
  for (std::uint32_t position = 0; position < 40'000; ++position) {
    const std::uint32_t start = run_start(position, units);
    BOOST_REQUIRE(start <= position);
    BOOST_REQUIRE(position - start < units);
    BOOST_REQUIRE(run_start(start, units) == start);
  }
}

BOOST_AUTO_TEST_CASE(a_block_belongs_to_the_run_of_its_last_unit) {
  const auto chain = chain_of(16);
  const GroupSpec group{.block_tokens = 64};
  const std::uint32_t last = last_unit_of_block(group, 16, 2);

  BOOST_TEST(last == 11U);
  BOOST_TEST(anchor_of(chain, last, 512) == chain[8]);
}

BOOST_AUTO_TEST_CASE(the_anchor_ignores_the_groups_block_size) {
  const auto chain = chain_of(64);
  const GroupSpec small{.block_tokens = 16};
  const GroupSpec large{.block_tokens = 256};
  const std::uint32_t a = last_unit_of_block(small, 16, 47);
  const std::uint32_t b = last_unit_of_block(large, 16, 2);

  BOOST_TEST(a == b);
  BOOST_TEST(anchor_of(chain, a, 32) == anchor_of(chain, b, 32));
}

BOOST_AUTO_TEST_CASE(only_whole_blocks_count) {
  const GroupSpec group{.block_tokens = 64};
  BOOST_TEST(blocks_in_chain(group, 16, 3) == 0U);
  BOOST_TEST(blocks_in_chain(group, 16, 4) == 1U);
  BOOST_TEST(blocks_in_chain(group, 16, 11) == 2U);
  BOOST_TEST(blocks_in_chain({.block_tokens = 1U << 20}, 1U << 20, 0xffffffff) == 0xffffffffU);
}

BOOST_AUTO_TEST_CASE(equal_first_unit_and_other_second_unit_is_another_block) {
  const std::string first = bytes_of(1, 16);
  const std::string one = first + bytes_of(50, 16);  // engines name a block by concatenation
  const std::string two = first + bytes_of(90, 16);

  BOOST_TEST(block_hash(one) != block_hash(two));
  BOOST_TEST(block_hash(one) != block_hash(first));
  BOOST_TEST(block_hash(one) == block_hash(bytes_of(50, 16)));
}

BOOST_AUTO_TEST_CASE(a_block_hash_is_its_last_16_bytes_little_endian) {
  const BlockHash hash = block_hash("ignored" + bytes_of(0, 16));
  BOOST_TEST(hash.high == 0x0706050403020100ULL);
  BOOST_TEST(hash.low == 0x0f0e0d0c0b0a0908ULL);
}

BOOST_AUTO_TEST_CASE(a_short_unit_hash_is_extended_by_zeros_at_the_front) {
  const BlockHash hash = block_hash(bytes_of(1, 8));
  BOOST_TEST(hash.high == 0U);
  BOOST_TEST(hash.low == 0x0807060504030201ULL);
  BOOST_TEST(block_hash("") == BlockHash{});
}

BOOST_AUTO_TEST_CASE(a_flat_hash_is_sha256_cut_to_128_bits) {
  // SHA-256("abc") = ba7816bf 8f01cfea 414140de 5dae2223 …
  const BlockHash hash = flat_hash("abc");
  BOOST_TEST(hash.high == 0xeacf018fbf1678baULL);
  BOOST_TEST(hash.low == 0x2322ae5dde404141ULL);
}

BOOST_AUTO_TEST_CASE(a_flat_hash_covers_all_bytes_of_the_name) {
  const std::string name(100'000, 'x');
  std::string other = name;
  other[50'000] = 'y';
  BOOST_TEST(flat_hash(name) != flat_hash(other));
  BOOST_TEST(flat_hash(std::string("a\0b", 3)) != flat_hash("a"));
}

BOOST_DATA_TEST_CASE(shards_share_the_runs_evenly, boost::unit_test::data::xrange(1, 17), shards) {
  std::vector<int> counts(static_cast<std::size_t>(shards));
  constexpr int kRuns = 32'000;
  for (int n = 0; n < kRuns; ++n) {  // counters, the worst that a test or an adapter gives
    const ShardId shard =
        shard_of({static_cast<std::uint64_t>(n), 0}, static_cast<std::uint32_t>(shards));
    BOOST_REQUIRE(shard.value() < static_cast<std::uint32_t>(shards));
    counts[shard.value()] += 1;
  }
  for (const int count : counts) {
    BOOST_TEST(count > kRuns / shards * 8 / 10);
    BOOST_TEST(count < kRuns / shards * 12 / 10 + 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::chain_test
