#include "actors/machine.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "actors/memory_cgroup.h"

namespace larder {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kKib = 1024;

/// The smallest limit of a cgroup and all above it.
std::uint64_t cgroup_limit(const std::string& root) {
  std::uint64_t limit = kNoLimit;
  for (const MemoryCgroup& group : memory_cgroups(root, "self")) {
    const bool v1 = group.version == MemoryCgroup::Version::kV1;
    const auto file = group.dir + (v1 ? "/memory.limit_in_bytes" : "/memory.max");
    limit = std::min(limit, number_in_file(file).value_or(kNoLimit));
  }
  return limit;
}

std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  return static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

Machine probe_machine(const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  const auto total_kib = sum_behind(base + "/proc/meminfo", {"MemTotal:"});
  return {.memory = {std::min(total_kib.value_or(0) * kKib, cgroup_limit(base))},
          .cores = usable_cores(),
          .uid = geteuid()};
}

RuntimeSpace probe_runtime_space(const std::string& dir) {
  namespace fs = std::filesystem;
  RuntimeSpace space;
  std::error_code error;
  fs::path place = fs::absolute(dir, error);
  while (!fs::exists(place, error) && place.has_relative_path())
    place = place.parent_path();
  space.file_system = place.string();
  struct statvfs stats {};
  if (statvfs(place.c_str(), &stats) != 0) return space;
  const bool root = geteuid() == 0;
  space.free = {std::uint64_t{root ? stats.f_bfree : stats.f_bavail} * stats.f_frsize};
  for (fs::recursive_directory_iterator file(dir, error), end; !error && file != end;
       file.increment(error)) {
    struct stat info {};
    if (lstat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      space.held.count += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
  }
  return space;
}

}  // namespace larder
