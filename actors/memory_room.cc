#include "actors/memory_room.h"

#include <cstdint>
#include <optional>

#include <linux/magic.h>
#include <sys/statfs.h>

#include "actors/memory_cgroup.h"

namespace larder {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

constexpr Bytes kReserveMin = 64_MiB;
constexpr Bytes kReserveMax = 1_GiB;
constexpr std::uint64_t kReserveShare = 50;
/// Of a small limit the reserve is no more than this part.
constexpr std::uint64_t kReserveShareMost = 8;

/// What is tighter than `tightest` takes its place: the limit that leaves the least beside its own
/// reserve.
void consider(MemoryRoom& tightest, std::uint64_t limit, std::uint64_t taken, std::string file) {
  MemoryRoom room{.limit = {limit}, .taken = {taken}, .file = std::move(file)};
  const auto distance = [](const MemoryRoom& of) {
    return static_cast<double>(of.limit.count) - static_cast<double>(of.taken.count) -
           static_cast<double>(of.reserve().count);
  };
  if (!tightest.limited() || distance(room) < distance(tightest)) tightest = std::move(room);
}

/// Page cache and the kernel's own caches. Not shmem, which slabs are.
std::uint64_t reclaimable(const MemoryCgroup& group) {
  const std::string file = group.dir + "/memory.stat";
  const std::string prefix = group.version == MemoryCgroup::Version::kV1 ? "total_" : "";
  return sum_behind(file, {prefix + "inactive_file", prefix + "active_file", "slab_reclaimable"})
      .value_or(0);
}

void consider(MemoryRoom& tightest, const MemoryCgroup& group) {
  const bool v1 = group.version == MemoryCgroup::Version::kV1;
  const auto used = number_in_file(group.dir + (v1 ? "/memory.usage_in_bytes" : "/memory.current"));
  if (!used) return;
  std::optional<std::uint64_t> given_back;  // by the kernel, when it must
  for (const char* name : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
    const std::string file = group.dir + "/" + name;
    const auto limit = number_in_file(file);
    if (!limit) continue;
    if (!given_back) given_back = reclaimable(group);
    consider(tightest, *limit, *used - std::min(*used, *given_back), file);
  }
}

}  // namespace

Bytes MemoryRoom::reserve() const {
  const Bytes wanted{limit.count / kReserveShare};
  return std::min(std::clamp(wanted, kReserveMin, kReserveMax),
                  Bytes{limit.count / kReserveShareMost});
}

Bytes MemoryRoom::fitting(Bytes held) const {
  if (!limited()) return kUnlimited;
  const Bytes all = held + limit;
  return all - std::min(all, taken + reserve());
}

MemoryRoom probe_memory_room(const std::string& root, const std::string& process) {
  const std::string base = root == "/" ? "" : root;
  MemoryRoom tightest;
  const std::string meminfo = base + "/proc/meminfo";
  const auto total = sum_behind(meminfo, {"MemTotal:"});
  const auto available = sum_behind(meminfo, {"MemAvailable:"});
  if (total && available) {
    consider(tightest, *total << 10, (*total - std::min(*total, *available)) << 10, meminfo);
  }
  for (const MemoryCgroup& group : memory_cgroups(base, process))
    consider(tightest, group);
  return tightest;
}

bool is_memory(const std::string& dir) {
  struct statfs stats {};
  if (::statfs(dir.c_str(), &stats) != 0) return false;
  return stats.f_type == TMPFS_MAGIC || stats.f_type == RAMFS_MAGIC;
}

}  // namespace larder
