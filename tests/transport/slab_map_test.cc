#include "transport/slab_map.h"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/slot_header.h"
#include "transport/guarded_copy.h"

namespace larder::slab_map_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

Fd file_of(std::size_t bytes) {
  Fd fd(memfd_create("larder-test", MFD_CLOEXEC));
  BOOST_REQUIRE(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  return fd;
}

SlabMap::Shape shape_of(std::uint32_t slots) {
  return {.id = SlabId(1),
          .bytes = {slots * 4096ULL},
          .slot_bytes = 4_KiB,
          .slots = slots,
          .header_bytes = {kSlotHeadersOffset + slots * sizeof(SlotHeader)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(slab_map)

BOOST_AUTO_TEST_CASE(data_and_generations_are_seen_and_bounded) {
  const Fd data = file_of(4 * 4096);
  const Fd headers = file_of(kSlotHeadersOffset + 4 * sizeof(SlotHeader));
  const std::uint64_t generation = 99;
  BOOST_REQUIRE(
      pwrite(headers.get(), &generation, 8, kSlotHeadersOffset + 3 * sizeof(SlotHeader)) == 8);
  BOOST_REQUIRE(pwrite(data.get(), "y", 1, 3 * 4096) == 1);

  const absl::StatusOr<SlabMap> map = SlabMap::map(shape_of(4), data, headers);

  BOOST_REQUIRE(map.ok());
  BOOST_TEST((*map->at(3 * 4096, 4096) == std::byte{'y'}));
  BOOST_TEST(map->at(3 * 4096 + 1, 4096) == nullptr);
  BOOST_TEST((map->generation(3) == 99));
  BOOST_TEST((map->generation(0) == 0));
  BOOST_TEST((map->generation(4) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(a_header_file_taken_away_has_no_generations) {
  const Fd data = file_of(64 * 4096);
  const Fd headers = file_of(kSlotHeadersOffset + 64 * sizeof(SlotHeader));
  const absl::StatusOr<SlabMap> map = SlabMap::map(shape_of(64), data, headers);
  BOOST_REQUIRE(map.ok());

  guard_sigbus();
  BOOST_REQUIRE(ftruncate(headers.get(), 0) == 0);

  BOOST_TEST((map->generation(40) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(files_shorter_than_the_notice_says_are_refused) {
  const Fd data = file_of(4096);
  const Fd headers = file_of(kSlotHeadersOffset + 4 * sizeof(SlotHeader));

  BOOST_TEST(absl::IsInvalidArgument(SlabMap::map(shape_of(4), data, headers).status()));
  SlabMap::Shape lying = shape_of(1);
  lying.slots = 4;
  BOOST_TEST(absl::IsInvalidArgument(SlabMap::map(lying, data, headers).status()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::slab_map_test
