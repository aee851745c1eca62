#include "transport/region_map.h"

#include <cstdlib>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/temp_dir.h"
#include "transport/control_page.h"

namespace larder::region_map_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

void check_refused(const absl::Status& status, std::string_view part) {
  BOOST_TEST(!status.ok());
  const std::string message(status.message());
  BOOST_TEST(message.find(part) != std::string::npos, message);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(region_map)

BOOST_AUTO_TEST_CASE(a_sealed_memfd_is_mapped_and_bounded) {
  const absl::StatusOr<Fd> fd = make_sealed_memfd("larder-test", 64_KiB);
  BOOST_REQUIRE(fd.ok());
  BOOST_REQUIRE(pwrite(fd->get(), "x", 1, 5000) == 1);

  const absl::StatusOr<RegionMap> map = RegionMap::map(*fd, 64_KiB, 1_MiB);

  BOOST_REQUIRE(map.ok());
  BOOST_TEST((*map->at(5000, 1) == std::byte{'x'}));
  BOOST_TEST(map->at(0, 65'536) != nullptr);
  BOOST_TEST(map->at(0, 65'537) == nullptr);
  BOOST_TEST(map->at(65'537, 0) == nullptr);
  BOOST_TEST(map->at(1, ~std::uint64_t{0}) == nullptr);
}

BOOST_AUTO_TEST_CASE(an_unsealed_memfd_is_refused) {
  const Fd fd(memfd_create("larder-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(ftruncate(fd.get(), 4096) == 0);

  check_refused(RegionMap::map(fd, {4096}, 1_MiB).status(), "F_SEAL_SHRINK");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_memfd_is_refused) {
  const test::TempDir dir;
  const Fd fd(open(dir.file("plain", std::string(4096, 'x')).c_str(), O_RDWR));
  BOOST_REQUIRE(fd.valid());

  check_refused(RegionMap::map(fd, {4096}, 1_MiB).status(), "region:");
}

BOOST_AUTO_TEST_CASE(sizes_are_refused_by_value_and_limit) {
  const absl::StatusOr<Fd> fd = make_sealed_memfd("larder-test", 8_KiB);
  BOOST_REQUIRE(fd.ok());

  check_refused(RegionMap::map(*fd, {0}, 1_MiB).status(), "bytes is 0");
  check_refused(RegionMap::map(*fd, {8193}, 1_MiB).status(), "bytes is 8193, the memfd has 8192");
  check_refused(RegionMap::map(*fd, 8_KiB, 4_KiB).status(), "bytes is 8192, the limit is 4096");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::region_map_test
