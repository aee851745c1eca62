#include "transport/frame.h"

#include <array>
#include <random>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "store/limits.h"
#include "tests/transport/stream.h"

namespace larder::frame_test {
namespace {

using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

HeaderBytes bytes_of(const FrameHeader& header) {
  HeaderBytes out;
  encode(header, out);
  return out;
}

void poke(HeaderBytes& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void check_refused(const HeaderBytes& bytes, std::string_view field, std::string_view value) {
  const absl::StatusOr<FrameHeader> header = decode(bytes);
  BOOST_TEST(absl::IsInvalidArgument(header.status()));
  const std::string message(header.status().message());
  BOOST_TEST(message.find(field) != std::string::npos, message);
  BOOST_TEST(message.find(value) != std::string::npos, message);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame)

BOOST_DATA_TEST_CASE(every_header_survives_the_wire, boost::unit_test::data::xrange(50), seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  FrameHeader header = sim::random_frame(rng, 200).header;
  header.flags |= static_cast<std::uint16_t>((rng() % 5) << kFdShift);

  const absl::StatusOr<FrameHeader> read = decode(bytes_of(header));

  BOOST_REQUIRE(read.ok());
  BOOST_TEST((*read == header));
}

BOOST_AUTO_TEST_CASE(the_example_of_the_protocol_page_is_what_is_sent) {
  const FrameHeader ping{.type = FrameType::kPing, .id = 7};

  const HeaderBytes bytes = bytes_of(ping);

  HeaderBytes expected{};
  const unsigned char head[] = {0x4c, 0x52, 0x44, 0x52, 1, 2, 0, 0, 7};
  std::memcpy(expected.data(), head, sizeof head);
  BOOST_TEST((bytes == expected));
}

BOOST_AUTO_TEST_CASE(each_malformed_field_is_refused_by_name_and_value) {
  const HeaderBytes good = bytes_of({.type = FrameType::kPing, .id = 7});

  HeaderBytes bytes = good;
  poke(bytes, 0, 0x01020304);
  check_refused(bytes, "magic", "0x01020304");
  bytes = good;
  bytes[4] = std::byte{9};
  check_refused(bytes, "version", "9");
  bytes = good;
  poke(bytes, 16, limits::kFrameBodyMax.count + 1);
  check_refused(bytes, "body", "1048577");
  bytes = good;
  poke(bytes, 20, limits::kFrameArrayMax.count + 1);
  check_refused(bytes, "array", "8388609");
  bytes = good;
  poke(bytes, 24, limits::kFramePayloadMax.count + 1);
  check_refused(bytes, "payload", "262145");
  bytes = good;
  poke(bytes, 28, 5);
  check_refused(bytes, "reserved", "5");
}

BOOST_AUTO_TEST_CASE(the_limits_themselves_and_an_unknown_type_are_accepted) {
  FrameHeader header{.type = static_cast<FrameType>(250), .id = 1};
  header.body = limits::kFrameBodyMax.count;
  header.array = limits::kFrameArrayMax.count;
  header.payload = limits::kFramePayloadMax.count;

  const absl::StatusOr<FrameHeader> read = decode(bytes_of(header));

  BOOST_REQUIRE(read.ok());
  BOOST_TEST((*read == header));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::frame_test
