#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "ops/doctor_command.h"
#include "ops/doctor_daemon.h"
#include "ops/doctor_machine.h"
#include "ops/doctor_memory.h"
#include "tests/temp_dir.h"

namespace larder {

/// For failures.
inline std::ostream& operator<<(std::ostream& out, Finding::Level level) {
  return out << static_cast<int>(level);
}

}  // namespace larder

namespace larder::doctor_test {
namespace {

using namespace literals;
using Level = Finding::Level;

/// A machine of 8 GiB with nothing to complain of, described by files.
struct Host {
  test::TempDir directory;
  Host() {
    put("proc/meminfo", "MemTotal:        8388608 kB\n");
    put("proc/self/cgroup", "0::/service\n");
    put("proc/self/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev,huge=within_size 0 0\n");
    put("proc/swaps", "Filename Type Size Used Priority\n");
    limits("1048576", "unlimited");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  }
  void put(const std::string& name, const std::string& text) { directory.file(name, text); }
  void limits(const std::string& files, const std::string& locked) {
    put("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit   Units\n"
        "Max locked memory         8388608              " +
            locked + " bytes\nMax open files            1024                 " + files +
            " files\n");
  }
  Finding look(const std::string& check, const std::string& process = "self") const {
    const HostFiles files(directory.path());
    Findings all = look_at_memory(files, 2_GiB, process);
    const Findings machine = look_at_machine(files);
    all.insert(all.end(), machine.begin(), machine.end());
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Finding& one) { return one.check == check; });
    BOOST_REQUIRE_MESSAGE(found != all.end(), check);
    BOOST_TEST((found->level == Level::kOk) == found->action.empty());
    return *found;
  }
  Level level(const std::string& check, const std::string& process = "self") const {
    return look(check, process).level;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(doctor)

BOOST_AUTO_TEST_CASE(a_capacity_that_was_lowered_is_found_with_the_limit_that_is_short) {
  const MemoryRoom room{.limit = 4_GiB, .taken = 3_GiB, .file = "/sys/fs/cgroup/x/memory.max"};
  BOOST_TEST(capacity_finding(2_GiB, 2_GiB, room).level == Level::kOk);
  const Finding lowered = capacity_finding(1_GiB, 2_GiB, room);
  BOOST_TEST(lowered.level == Level::kAdvice);
  for (const char* part : {"1024 MiB in force of 2048 MiB", "x/memory.max leaves 1024 MiB"})
    BOOST_TEST(lowered.found.find(part) != std::string::npos, lowered.found);
  BOOST_TEST(capacity_finding(1_GiB, 2_GiB, {}).found.find("leaves") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_good_machine_has_no_finding) {
  const Host host;
  const HostFiles files(host.directory.path());
  for (const Findings& part : {look_at_memory(files, 2_GiB, "self"), look_at_machine(files)}) {
    for (const Finding& finding : part)
      BOOST_TEST(finding.level == Level::kOk, finding.check + ": " + finding.found);
  }
}

BOOST_AUTO_TEST_CASE(a_root_that_is_no_machine_is_said_to_be_none) {
  const test::TempDir empty;
  DoctorCommand command;
  command.root = empty.path();
  command.machine_only = true;
  const auto done = run(command);
  BOOST_TEST((done.status().code() == absl::StatusCode::kNotFound));
  BOOST_TEST(done.status().message().find(empty.path()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(yama_decides_who_may_attach) {
  Host host;
  host.put("proc/sys/kernel/yama/ptrace_scope", "0\n");
  BOOST_TEST(host.level("ptrace_scope") == Level::kOk);

  for (const char* scope : {"1", "2", "3"}) {
    host.put("proc/sys/kernel/yama/ptrace_scope", scope);
    BOOST_TEST(host.level("ptrace_scope") == Level::kAdvice);
  }
  BOOST_TEST(host.look("ptrace_scope").found.find("staged") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_than_one_numa_node_is_advice) {
  Host host;
  host.put("sys/devices/system/node/node0/meminfo", "");
  host.put("sys/devices/system/node/has_cpu", "0\n");
  BOOST_TEST(host.level("numa") == Level::kOk);

  host.put("sys/devices/system/node/node1/meminfo", "");
  BOOST_TEST(host.level("numa") == Level::kAdvice);
  BOOST_TEST(host.look("numa").found.find("2 memory nodes") == 0U);
}

BOOST_AUTO_TEST_CASE(a_cgroup_that_cannot_hold_the_slabs_is_a_problem_v2) {
  Host host;
  host.put("sys/fs/cgroup/service/memory.max", "max\n");
  BOOST_TEST(host.level("cgroup_memory") == Level::kOk);

  host.put("sys/fs/cgroup/service/memory.max", "1073741824\n");
  BOOST_TEST(host.level("cgroup_memory") == Level::kProblem);

  host.put("sys/fs/cgroup/service/memory.max", "4294967296\n");
  BOOST_TEST(host.level("cgroup_memory") == Level::kOk);
}

BOOST_AUTO_TEST_CASE(a_cgroup_that_cannot_hold_the_slabs_is_a_problem_v1) {
  Host host;
  host.put("proc/self/cgroup", "4:memory:/job\n");
  host.put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  BOOST_TEST(host.level("cgroup_memory") == Level::kProblem);

  host.put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  BOOST_TEST(host.level("cgroup_memory") == Level::kOk);
}

BOOST_AUTO_TEST_CASE(swap_is_advice) {
  Host host;
  BOOST_TEST(host.level("swap") == Level::kOk);
  host.put("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n");
  BOOST_TEST(host.level("swap") == Level::kAdvice);
}

BOOST_AUTO_TEST_CASE(a_small_dev_shm_is_a_problem) {
  Host host;
  host.put("proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n");
  BOOST_TEST(host.level("shm_size") == Level::kProblem);

  host.put("proc/self/mounts", "shm /dev/shm tmpfs rw,size=3145728k 0 0\n");
  BOOST_TEST(host.level("shm_size") == Level::kOk);

  host.put("proc/self/mounts", "overlay / overlay rw 0 0\n");
  BOOST_TEST(host.level("shm_size") == Level::kAdvice);
}

BOOST_AUTO_TEST_CASE(pages_and_the_governor_are_advice) {
  Host host;
  host.put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  host.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  BOOST_TEST(host.level("huge_pages") == Level::kAdvice);
  BOOST_TEST(host.level("cpu_governor") == Level::kOk);

  host.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  BOOST_TEST(host.level("cpu_governor") == Level::kAdvice);
}

BOOST_AUTO_TEST_CASE(slabs_get_huge_pages_from_the_mount_or_from_the_kernel) {
  Host host;
  BOOST_TEST(host.level("slab_pages") == Level::kOk);
  host.put("proc/self/mounts", "tmpfs /dev/shm tmpfs rw 0 0\n");
  BOOST_TEST(host.level("slab_pages") == Level::kAdvice);  // a kernel that does not tell
  for (const char* old : {"5.15.0-91-generic\n", "6.0.19\n", "x\n", "6\n"}) {
    host.put("proc/sys/kernel/osrelease", old);
    BOOST_TEST(host.level("slab_pages") == Level::kAdvice);
  }
  for (const char* good : {"6.1.0-18-amd64\n", "6.18.44\n", "7.0\n"}) {
    host.put("proc/sys/kernel/osrelease", good);
    BOOST_TEST(host.level("slab_pages") == Level::kOk);
  }
  host.put("sys/kernel/mm/transparent_hugepage/shmem_enabled",
           "always within_size advise never [deny] force\n");
  BOOST_TEST(host.level("slab_pages") == Level::kAdvice);
}

BOOST_AUTO_TEST_CASE(what_a_daemon_has_of_huge_pages_says_more_than_what_a_kernel_could_give) {
  Host host;
  const auto rollup = [&host](int shared_mib, int huge_mib) {
    host.put("proc/77/smaps_rollup",
             "55d-7ff ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss_Shmem:   " +
                 std::to_string(shared_mib * 1024) +
                 " kB\nShmemPmdMapped:    " + std::to_string(huge_mib * 1024) + " kB\n");
  };
  rollup(1024, 1000);
  BOOST_TEST(host.level("slab_pages", "77") == Level::kOk);
  rollup(1024, 10);
  BOOST_TEST(host.level("slab_pages", "77") == Level::kAdvice);
  rollup(100, 0);  // too little to tell: what the mount says
  BOOST_TEST(host.level("slab_pages", "77") == Level::kOk);
}

BOOST_AUTO_TEST_CASE(mappings_count_when_there_is_memory_for_more_slabs_than_the_kernel_maps) {
  Host host;
  BOOST_TEST(host.level("mappings") == Level::kOk);  // not readable
  host.put("proc/sys/vm/max_map_count", "65530\n");
  BOOST_TEST(host.level("mappings") == Level::kOk);
  host.put("proc/sys/vm/max_map_count", "16384\n");
  BOOST_TEST(host.level("mappings") == Level::kAdvice);
  const HostFiles files(host.directory.path());
  host.put("proc/sys/vm/max_map_count", "65530\n");
  const Findings all = look_at_memory(files, Bytes{4ULL << 40}, "self");
  BOOST_TEST(std::count_if(all.begin(), all.end(), [](const Finding& one) {
               return one.check == "mappings" && one.level == Level::kAdvice;
             }) == 1);
}

BOOST_AUTO_TEST_CASE(limits_count_when_something_needs_them) {
  Host host;
  host.limits("1024", "8388608");
  BOOST_TEST(host.level("open_files") == Level::kAdvice);
  BOOST_TEST(host.level("memlock") == Level::kOk);

  host.put("sys/class/infiniband/mlx5_0/node_type", "1");
  BOOST_TEST(host.level("memlock") == Level::kAdvice);
  BOOST_TEST(host.look("rdma").found == "mlx5_0");
}

BOOST_AUTO_TEST_CASE(the_daemons_user_decides_what_read_only_mappings_are_worth) {
  BOOST_TEST(user_finding(1000, 1000).level == Level::kAdvice);
  BOOST_TEST(user_finding(1000, 1000).found.find("reopen") != std::string::npos);
  BOOST_TEST(user_finding(0, 1000).level == Level::kAdvice);
  BOOST_TEST(user_finding(998, 1000).level == Level::kOk);
  BOOST_TEST(version_finding("1.0", "1.0").level == Level::kOk);
  BOOST_TEST(version_finding("1.1", "1.0").level == Level::kAdvice);
}

BOOST_AUTO_TEST_CASE(a_daemon_that_does_not_answer_is_a_problem_and_the_exit_code_4) {
  Host host;
  DoctorCommand command;
  command.root = host.directory.path();
  command.connection.server = host.directory.path() + "/no-daemon";
  command.json = true;
  BOOST_TEST((run(command).value() == ExitCode::kFailure));

  command.machine_only = true;
  BOOST_TEST((run(command).value() == ExitCode::kOk));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::doctor_test
