#include "actors/memory_room.h"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "tests/temp_dir.h"

namespace larder::memory_room_test {
namespace {

using namespace literals;

/// A machine of 8 GiB with 6 left, described by files.
struct Root {
  test::TempDir directory;
  Root() {
    directory.file("proc/meminfo",
                   "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 6291456 kB\n");
  }
  void in(const std::string& lines) const { directory.file("proc/self/cgroup", lines); }
  void file(const std::string& name, const std::string& text) const {
    directory.file("sys/fs/cgroup/" + name, text);
  }
  /// A v2 cgroup whose memory is half cache: of `used`, `cache` can be taken back.
  void group(const std::string& path, const std::string& max, Bytes used, Bytes cache) const {
    file(path + "/memory.max", max + "\n");
    file(path + "/memory.current", fmt::format("{}\n", used.count));
    file(path + "/memory.stat",
         fmt::format("anon 1\nshmem 999999999\ninactive_file {}\nactive_file {}\n"
                     "slab_reclaimable 4096\n",
                     cache.count / 2 - 4096, cache.count / 2));
  }
  MemoryRoom room() const { return probe_memory_room(directory.path()); }
  std::string path(const std::string& name) const {
    return directory.path() + "/sys/fs/cgroup/" + name;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(memory_room)

BOOST_AUTO_TEST_CASE(without_a_cgroup_the_machine_tells) {
  const Root root;
  BOOST_TEST(root.room().left() == 6_GiB);
  BOOST_TEST(root.room().limit == 8_GiB);
  BOOST_TEST(root.room().file == root.directory.path() + "/proc/meminfo");
  root.in("0::/\n");
  root.file("memory.max", "max\n");
  BOOST_TEST(root.room().left() == 6_GiB);
}

BOOST_AUTO_TEST_CASE(what_the_kernel_can_take_back_is_room_and_shmem_is_not) {
  const Root root;
  root.in("0::/a\n");
  root.group("a", "2147483648", 1_GiB, 256_MiB);
  BOOST_TEST(root.room().left() == 1_GiB + 256_MiB);
  BOOST_TEST(root.room().file == root.path("a/memory.max"));
}

BOOST_AUTO_TEST_CASE(the_tightest_level_counts_and_is_named) {
  const Root root;
  root.in("0::/a/b\n");
  root.group("a/b", "max", 1_GiB, 8_MiB);
  root.group("a", "3221225472", 3_GiB, 512_MiB);  // its neighbours take the rest
  BOOST_TEST(root.room().left() == 512_MiB);
  BOOST_TEST(root.room().file == root.path("a/memory.max"));
}

BOOST_AUTO_TEST_CASE(memory_high_counts_and_may_be_passed) {
  const Root root;
  root.in("0::/a\n");
  root.group("a", "2147483648", 1_GiB, 8_MiB);
  root.file("a/memory.high", "536870912\n");
  const MemoryRoom room = root.room();
  BOOST_TEST(room.file == root.path("a/memory.high"));
  BOOST_TEST(room.left() == Bytes{0});
  // So much must go, and the reserve: of 768 MiB of slabs 192 MiB fit.
  BOOST_TEST(room.fitting(768_MiB) == 768_MiB - (1_GiB - 8_MiB - 512_MiB) - room.reserve());
}

BOOST_AUTO_TEST_CASE(a_v1_cgroup_tells_with_what_is_below_it) {
  const Root root;
  root.in("5:cpu:/x\n4:memory,hugetlb:/job\n0::/\n");
  root.file("memory/job/memory.limit_in_bytes", "1073741824\n");
  root.file("memory/job/memory.usage_in_bytes", "805306368\n");
  root.file("memory/job/memory.stat",
            "inactive_file 1\ntotal_inactive_file 134217728\ntotal_active_file 134217728\n");
  root.file("memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.file("memory/memory.usage_in_bytes", "805306368\n");
  BOOST_TEST(root.room().left() == 512_MiB);
  BOOST_TEST(root.room().file == root.path("memory/job/memory.limit_in_bytes"));
}

BOOST_AUTO_TEST_CASE(inside_a_container_the_root_of_the_mount_tells) {
  const Root root;
  for (const char* path : {"0::/\n", "0::/kubepods/pod1/2\n", "0::/../../x\n"}) {
    root.in(path);
    root.group("", "1073741824", 512_MiB, 128_MiB);
    BOOST_TEST(root.room().left() == 512_MiB + 128_MiB);
  }
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_nonsense_does_not_limit) {
  const Root root;
  root.in("nonsense\n0::/a\n4:memory\n");
  root.file("a/memory.max", "many\n");
  root.file("a/memory.high", "1000\n");  // without memory.current
  BOOST_TEST(root.room().left() == 6_GiB);
  root.file("a/memory.current", "-5\n");
  BOOST_TEST(root.room().left() == 6_GiB);

  const test::TempDir empty;
  BOOST_TEST(!probe_memory_room(empty.path()).limited());
  BOOST_TEST(probe_memory_room(empty.path()).fitting(5_GiB) == MemoryRoom::kUnlimited);
}

BOOST_AUTO_TEST_CASE(the_reserve_is_a_share_of_the_limit_within_bounds) {
  const auto reserve = [](Bytes limit) {
    return MemoryRoom{.limit = limit, .taken = {}, .file = {}}.reserve();
  };
  BOOST_TEST(reserve(128_MiB) == 16_MiB);
  BOOST_TEST(reserve(1_GiB) == 64_MiB);
  BOOST_TEST(reserve(50_GiB) == 1_GiB);
  BOOST_TEST(reserve(500_GiB) == 1_GiB);
}

BOOST_AUTO_TEST_CASE(this_machine_tells_and_knows_what_is_memory) {
  BOOST_TEST(probe_memory_room().limited());
  BOOST_TEST(is_memory(test::kShm));
  BOOST_TEST(!is_memory("/proc"));
  BOOST_TEST(!is_memory("/no/such/place"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::memory_room_test
