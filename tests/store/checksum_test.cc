#include "store/checksum.h"

#include <random>
#include <string_view>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::checksum_test {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& rng) {
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes)
    byte = static_cast<std::byte>(rng());
  return bytes;
}

std::uint64_t of_text(std::string_view text) {
  return checksum(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checksums)

BOOST_AUTO_TEST_CASE(is_xxh3_64) {  // values of the xxhash specification
  BOOST_TEST(of_text("") == 0x2d06800538d394c2ULL);
  BOOST_TEST(of_text("a") == 0xe6c632b61e964e1fULL);
  BOOST_TEST(of_text("abc") == 0x78af5f94892f3950ULL);
}

BOOST_AUTO_TEST_CASE(any_flipped_bit_changes_it) {
  std::mt19937 rng(1);
  auto bytes = random_bytes(5000, rng);
  const std::uint64_t whole = checksum(bytes);
  for (std::size_t n = 0; n < bytes.size(); n += 7) {
    bytes[n] ^= std::byte{16};
    BOOST_REQUIRE(checksum(bytes) != whole);
    bytes[n] ^= std::byte{16};
  }
}

BOOST_DATA_TEST_CASE(a_stream_agrees_with_the_whole_however_it_is_cut,
                     boost::unit_test::data::xrange(100), seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  const auto bytes = random_bytes(rng() % 20'000, rng);
  ChecksumStream stream;
  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const std::size_t piece = std::min<std::size_t>(rest.size(), rng() % 3000);
    stream.update(rest.first(piece));
    rest = rest.subspan(piece);
  }
  const ChecksumStream copy = stream;

  BOOST_TEST(stream.digest() == checksum(bytes));
  BOOST_TEST(copy.digest() == checksum(bytes));
  stream.reset();
  BOOST_TEST(stream.digest() == checksum({}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::checksum_test
