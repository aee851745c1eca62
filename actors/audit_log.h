#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "actors/rotated_file.h"

namespace spdlog {
class logger;
}

namespace larder {

/// Lines of who removed, pinned or changed what, each with its time, appended to a file that is
/// written through; without a file they go to the log. Thread-safe.
class AuditLog {
 public:
  using Line = std::function<void(const std::string&)>;

  /// Errors as RotatedFile's. Later nothing fails: what cannot be written is told to `log`, and
  /// `lost` is called for it.
  static absl::StatusOr<std::unique_ptr<AuditLog>> open(const std::string& file, Line log,
                                                        std::function<void()> lost);
  void add(const std::string& line);
  /// After the file was moved away.
  absl::Status reopen();

 private:
  Line log_;
  std::shared_ptr<RotatedFile> file_;  ///< null: none
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace larder
