#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace larder {

/// A cgroup that holds a process, or one above it, as a directory with the memory controller's
/// files.
struct MemoryCgroup {
  enum class Version : std::uint8_t { kV1, kV2 };
  Version version = Version::kV2;
  std::string dir;  ///< may be missing: in a container only the mount's root is there
};

/// Those of `process` (a pid, or "self"), from itself up to the mount's root. `root` is "" for the
/// machine's own /proc and /sys/fs/cgroup, another directory in tests.
std::vector<MemoryCgroup> memory_cgroups(const std::string& root, const std::string& process);

/// A file's only number; nothing for "max", a missing file and nonsense.
std::optional<std::uint64_t> number_in_file(const std::string& path);
/// The sum of the numbers behind words that begin a line ("MemTotal:" of meminfo, in its own unit);
/// nothing when no line begins so.
std::optional<std::uint64_t> sum_behind(const std::string& path,
                                        const std::vector<std::string>& words);

}  // namespace larder
