#pragma once

#include <optional>
#include <string>
#include <vector>

namespace larder {

/// What the kernel tells in /proc and /sys, below a root that a test makes itself.
class HostFiles {
 public:
  /// `root` "/" or a directory with its own proc and sys.
  explicit HostFiles(std::string root);

  const std::string& root() const { return root_; }
  /// The file's text; nothing when it cannot be read. `path` begins with a slash.
  std::optional<std::string> text(const std::string& path) const;
  /// Its first word.
  std::optional<std::string> word(const std::string& path) const;
  /// Its lines; none when it cannot be read.
  std::vector<std::string> lines(const std::string& path) const;
  /// Names in a directory, sorted; none when it cannot be read.
  std::vector<std::string> names(const std::string& path) const;
  bool exists(const std::string& path) const;

 private:
  std::string root_;
};

}  // namespace larder
