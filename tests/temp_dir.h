// A directory for one test.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

namespace larder::test {

/// A directory of its own below `parent`, removed with all that is in it.
class TempDir {
 public:
  explicit TempDir(const std::string& parent = std::filesystem::temp_directory_path().string()) {
    constexpr std::size_t kDrawn = 6;  // characters that mkdtemp() draws
    path_ = parent + "/larder-test-" + std::string(kDrawn, 'X');
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no directory in " + parent);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// Writes a file (and the directories above it); returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

 private:
  std::string path_;
};

/// Where slabs stand in tests that look at memory.
inline constexpr const char* kShm = "/dev/shm";

}  // namespace larder::test
