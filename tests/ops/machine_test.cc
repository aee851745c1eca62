#include "actors/machine.h"

#include <boost/test/unit_test.hpp>

#include "tests/temp_dir.h"

namespace larder::machine_test {
namespace {

using namespace literals;

/// A machine of 8 GiB, described by files.
struct Root {
  test::TempDir directory;
  Root() { directory.file("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n"); }
  Bytes memory() const { return probe_machine(directory.path()).memory; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(machine)

BOOST_AUTO_TEST_CASE(the_machine_limits_when_no_cgroup_does) {
  const Root root;
  BOOST_TEST(root.memory() == 8_GiB);
  root.directory.file("proc/self/cgroup", "0::/\n");
  root.directory.file("sys/fs/cgroup/memory.max", "max\n");
  BOOST_TEST(root.memory() == 8_GiB);
}

BOOST_AUTO_TEST_CASE(a_v2_limit_of_any_level_counts) {
  const Root root;
  root.directory.file("proc/self/cgroup", "0::/a/b\n");
  root.directory.file("sys/fs/cgroup/a/memory.max", "2147483648\n");
  root.directory.file("sys/fs/cgroup/a/b/memory.max", "max\n");
  BOOST_TEST(root.memory() == 2_GiB);
}

BOOST_AUTO_TEST_CASE(a_v1_limit_of_any_level_counts) {
  const Root root;
  root.directory.file("proc/self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/job/task\n0::/\n");
  root.directory.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.directory.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  BOOST_TEST(root.memory() == 1_GiB);
}

BOOST_AUTO_TEST_CASE(inside_a_container_the_root_of_the_mount_is_asked) {
  const Root root;  // the path is the host's, the mount is the container's own
  root.directory.file("proc/self/cgroup", "4:memory:/docker/0123\n");
  root.directory.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  BOOST_TEST(root.memory() == 512_MiB);
}

BOOST_AUTO_TEST_CASE(this_machine_has_memory_and_a_core) {
  const Machine machine = probe_machine();
  BOOST_TEST(machine.memory > 16_MiB);
  BOOST_TEST(machine.cores >= 1U);
}

BOOST_AUTO_TEST_CASE(room_is_that_of_the_nearest_directory_and_counts_what_is_held) {
  const test::TempDir directory;
  directory.file("runtime/slabs/1", std::string(1 << 20, 'x'));

  const RuntimeSpace there = probe_runtime_space(directory.path() + "/runtime");
  const RuntimeSpace not_yet = probe_runtime_space(directory.path() + "/none/below");

  BOOST_TEST(there.held >= 1_MiB);
  BOOST_TEST(there.free > Bytes{0});
  BOOST_TEST(not_yet.file_system == directory.path());
  BOOST_TEST(not_yet.held == Bytes{0});
  BOOST_TEST(not_yet.free > Bytes{0});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::machine_test
