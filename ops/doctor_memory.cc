#include "ops/doctor_memory.h"

#include <charconv>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include <fmt/format.h>

#include "actors/machine.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kOpenFilesWanted = 65'536;
/// What a process maps besides slabs and regions.
constexpr std::uint64_t kOwnMappings = 1'024;
/// With less shared memory than this, small pages are the tails of a few slabs.
constexpr std::uint64_t kTellsEnough = 256 << 20;
/// Slabs that are not full, the reserve and the index come on top of the capacity.
constexpr double kOverhead = 1.25;
/// What sessions may hold beside blocks on the smallest node: common_max of all.
constexpr Bytes kBesideMin{160ULL << 20};

std::string mib(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

std::optional<std::uint64_t> number(absl::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::uint64_t memory_total(const HostFiles& files) {
  for (const std::string& line : files.lines("/proc/meminfo")) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() >= 2 && words[0] == "MemTotal:") return number(words[1]).value_or(0) * 1024;
  }
  return 0;
}

/// The word in brackets, which is the one chosen.
std::string chosen(const std::string& text) {
  const std::size_t from = text.find('[');
  const std::size_t to = text.find(']', from);
  if (from == std::string::npos || to == std::string::npos) return text;
  return text.substr(from + 1, to - from - 1);
}

Finding huge_pages(const HostFiles& files) {
  const char* const check = "huge_pages";
  const auto text = files.text("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!text) return fine(check, "this kernel does not tell");
  const std::string mode = chosen(*text);
  if (mode != "never") return fine(check, fmt::format("transparent huge pages: {}", mode));
  return advice(check, "transparent huge pages: never; lookups in a large index are slower",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

/// Options of the last tmpfs mounted on /dev/shm; nothing when it is none.
std::optional<std::vector<std::string>> shm_options(const HostFiles& files) {
  std::optional<std::vector<std::string>> options;
  for (const std::string& line : files.lines("/proc/self/mounts")) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() < 4 || words[1] != "/dev/shm" || words[2] != "tmpfs") continue;
    options = absl::StrSplit(words[3], ',');
  }
  return options;
}

/// What `NAME=` says in mount options; empty when it is not among them.
std::string option(const std::vector<std::string>& options, const std::string& name) {
  for (const std::string& one : options) {
    if (absl::StartsWith(one, name + "=")) return one.substr(name.size() + 1);
  }
  return "";
}

/// Linux made the first huge pages on demand in shared memory in 6.1.
bool makes_huge_pages(const HostFiles& files) {
  const std::string release = files.word("/proc/sys/kernel/osrelease").value_or("");
  const std::vector<std::string> parts = absl::StrSplit(release, absl::ByAnyChar(".-"));
  if (parts.size() < 2) return false;
  const auto major = number(parts[0]);
  const auto minor = number(parts[1]);
  return major && minor && (*major > 6 || (*major == 6 && *minor >= 1));
}

/// Of a process's memory, in bytes: what /proc/PID/smaps_rollup says of `field`.
std::optional<std::uint64_t> rolled_up(const HostFiles& files, const std::string& process,
                                       const std::string& field) {
  for (const std::string& line : files.lines("/proc/" + process + "/smaps_rollup")) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 2 || words[0] != field + ":") continue;
    if (const auto kib = number(words[1])) return *kib * 1024;
  }
  return std::nullopt;
}

Finding slab_pages(const HostFiles& files, const std::string& process) {
  const char* const check = "slab_pages";
  // What a daemon has says more than what a kernel could give.
  const auto shared = rolled_up(files, process, "Pss_Shmem");
  const auto huge = rolled_up(files, process, "ShmemPmdMapped");
  if (process != "self" && shared && huge && *shared >= kTellsEnough) {
    const std::string found =
        fmt::format("{} of {} of shared memory stand on huge pages", mib(*huge), mib(*shared));
    if (*huge >= *shared / 2) return fine(check, found);
    return advice(check, found + ": its memory is in small pieces, or the kernel is before 6.1",
                  "start larderd soon after the machine, or echo 1 > /proc/sys/vm/compact_memory "
                  "before it");
  }
  const std::string mode = option(shm_options(files).value_or(std::vector<std::string>{}), "huge");
  if (mode == "always" || mode == "within_size") {
    return fine(check, fmt::format("/dev/shm is mounted with huge={}", mode));
  }
  const std::string knob = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  const bool denied = chosen(files.text(knob).value_or("")) == "deny";
  if (makes_huge_pages(files)) {
    if (!denied) return fine(check, "larderd makes slabs of huge pages, as far as there are any");
    return advice(check, "huge pages are denied in shared memory; slabs use pages of 4 KiB",
                  "echo never > " + knob + ", before larderd starts");
  }
  return advice(check, "a kernel before 6.1 makes slabs of pages of 4 KiB",
                "mount -o remount,huge=within_size /dev/shm, before larderd starts");
}

Finding swap(const HostFiles& files) {
  const auto lines = files.lines("/proc/swaps");
  if (lines.size() <= 1) return fine("swap", "off");
  return advice("swap",
                fmt::format("{} swap area{}: blocks of slabs can be written there, where they are "
                            "slow and outlive the process",
                            lines.size() - 1, lines.size() > 2 ? "s" : ""),
                "swapoff -a, or MemorySwapMax=0 in larderd's unit");
}

/// The size of /dev/shm; the kernel does not print the default, half of the memory.
std::optional<std::uint64_t> shm_size(const HostFiles& files) {
  const auto options = shm_options(files);
  if (!options) return std::nullopt;
  const auto kib = number(option(*options, "size"));
  return kib ? *kib * 1024 : memory_total(files) / 2;
}

Finding shm(const HostFiles& files, Bytes capacity) {
  const char* const check = "shm_size";
  const auto size = shm_size(files);
  if (!size) {
    return advice(check, "/dev/shm is no tmpfs of its own",
                  "mount -t tmpfs tmpfs /dev/shm, or name another tmpfs with --runtime-dir");
  }
  const auto need = static_cast<std::uint64_t>(static_cast<double>(capacity.count) * kOverhead);
  const std::string found =
      fmt::format("/dev/shm has {}, slabs may need {}", mib(*size), mib(need));
  if (*size >= need) return fine(check, found);
  return problem(check, found,
                 "mount -o remount,size=… /dev/shm (a container: --shm-size), or a smaller "
                 "--host-bytes");
}

Finding cgroup(const HostFiles& files, Bytes capacity) {
  const char* const check = "cgroup_memory";
  const std::uint64_t limit = probe_machine(files.root() + "/").memory.count;
  const std::uint64_t total = memory_total(files);
  if (limit >= total)
    return fine(check, fmt::format("no limit below the machine's {}", mib(total)));
  const auto need =
      std::max(static_cast<std::uint64_t>(static_cast<double>(capacity.count) * kOverhead),
               capacity.count + kBesideMin.count);
  const std::string found =
      fmt::format("limit of this command's cgroup {}, larderd may need {}", mib(limit), mib(need));
  if (limit >= need) return fine(check, found);
  return problem(check, found + ": its slabs count, the kernel would kill",
                 "raise memory.max (MemoryMax=, --memory), or a smaller --host-bytes");
}

/// A limit of /proc/PID/limits, "soft hard" behind a name of fixed width.
std::optional<std::uint64_t> hard_limit(const HostFiles& files, const std::string& process,
                                        const char* name) {
  for (const std::string& line : files.lines("/proc/" + process + "/limits")) {
    if (!absl::StartsWith(line, name)) continue;
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(std::string(name).size()), ' ', absl::SkipEmpty());
    if (words.size() < 2) return std::nullopt;
    return words[1] == "unlimited" ? kNoLimit : number(words[1]);
  }
  return std::nullopt;
}

Finding open_files(const HostFiles& files, const std::string& process) {
  const char* const check = "open_files";
  const auto limit = hard_limit(files, process, "Max open files");
  if (!limit) return fine(check, "the limit cannot be read");
  const std::string found =
      *limit == kNoLimit ? "no limit" : fmt::format("limit {} (process {})", *limit, process);
  if (*limit >= kOpenFilesWanted) return fine(check, found);
  return advice(check, found + ": a slab takes one descriptor, a session up to three",
                fmt::format("LimitNOFILE={} in larderd's unit, or ulimit -Hn", kOpenFilesWanted));
}

/// A slab is two mappings, in the daemon and in each client that reads it; a region is one.
Finding mappings(const HostFiles& files, Bytes capacity) {
  const char* const check = "mappings";
  const auto limit = number(files.word("/proc/sys/vm/max_map_count").value_or(""));
  if (!limit) return fine(check, "the limit cannot be read");
  const double slabs = static_cast<double>(capacity.count) * kOverhead /
                       static_cast<double>(limits::kSlabBytesMax.count);
  const auto wanted = static_cast<std::uint64_t>(2 * slabs) + limits::kRegionsMax + kOwnMappings;
  const std::string found = fmt::format("{} may be needed, vm.max_map_count is {}", wanted, *limit);
  if (wanted <= *limit) return fine(check, found);
  return advice(check, found + ": slabs beyond it are not made",
                fmt::format("sysctl vm.max_map_count={}", 2 * wanted));
}

Finding locked_memory(const HostFiles& files, Bytes capacity, const std::string& process) {
  const char* const check = "memlock";
  const auto limit = hard_limit(files, process, "Max locked memory");
  if (!limit) return fine(check, "the limit cannot be read");
  if (*limit == kNoLimit) return fine(check, "no limit");
  const std::string found = fmt::format("limit {} (process {})", mib(*limit), process);
  if (*limit >= capacity.count) return fine(check, found);
  if (files.names("/sys/class/infiniband").empty()) {
    return fine(check, found + "; nothing here needs more: no RDMA device");
  }
  return advice(check, found + ": slabs cannot be registered with the RDMA device",
                "LimitMEMLOCK=infinity in larderd's unit, or ulimit -l unlimited");
}

}  // namespace

Findings look_at_memory(const HostFiles& files, Bytes capacity, const std::string& process) {
  return {huge_pages(files),
          slab_pages(files, process),
          swap(files),
          shm(files, capacity),
          cgroup(files, capacity),
          locked_memory(files, capacity, process),
          open_files(files, process),
          mappings(files, capacity)};
}

}  // namespace larder
