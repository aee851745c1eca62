#include "actors/machine.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "absl/strings/str_split.h"
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace larder {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t memory_total(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "MemTotal: %lu kB", &kib) == 1) return kib * 1024;
  }
  return 0;
}

/// A limit file's number; "max", a missing file and nonsense do not limit.
std::uint64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  return error == std::errc() && end != word.data() ? bytes : kNoLimit;
}

/// The smallest limit of a cgroup and all above it.
std::uint64_t limit_up_from(const std::string& mount, std::string path, const char* file) {
  std::uint64_t limit = kNoLimit;
  while (true) {
    limit = std::min(limit, read_limit(mount + path + "/" + file));
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return limit;
    path.resize(slash);
  }
}

std::uint64_t cgroup_limit(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/self/cgroup");
  std::uint64_t limit = kNoLimit;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) {  // v2
      limit = std::min(limit, limit_up_from(mount, parts[2], "memory.max"));
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::count(controllers.begin(), controllers.end(), "memory") > 0) {  // v1
      limit = std::min(limit, limit_up_from(mount + "/memory", parts[2], "memory.limit_in_bytes"));
    }
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
  return {.memory = {std::min(memory_total(base), cgroup_limit(base))},
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
