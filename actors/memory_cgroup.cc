#include "actors/memory_cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "absl/strings/str_split.h"

namespace larder {
namespace {

using Version = MemoryCgroup::Version;

std::optional<std::uint64_t> parse(const std::string& word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end == word.data()) return {};
  return number;
}

void add_levels(std::vector<MemoryCgroup>& to, Version version, const std::string& mount,
                std::string path) {
  while (true) {
    to.push_back({version, mount + path});
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

std::vector<MemoryCgroup> memory_cgroups(const std::string& root, const std::string& process) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/" + process + "/cgroup");
  std::vector<MemoryCgroup> levels;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string path = parts[2] == "/" ? "" : parts[2];
    if (parts[0] == "0" && parts[1].empty()) add_levels(levels, Version::kV2, mount, path);
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::count(controllers.begin(), controllers.end(), "memory") > 0) {
      add_levels(levels, Version::kV1, mount + "/memory", path);
    }
  }
  return levels;
}

std::optional<std::uint64_t> number_in_file(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return parse(word);
}

std::optional<std::uint64_t> sum_behind(const std::string& path,
                                        const std::vector<std::string>& words) {
  std::ifstream file(path);
  std::optional<std::uint64_t> sum;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (parts.size() < 2 || std::count(words.begin(), words.end(), parts[0]) == 0) continue;
    if (const auto number = parse(parts[1])) sum = sum.value_or(0) + *number;
  }
  return sum;
}

}  // namespace larder
