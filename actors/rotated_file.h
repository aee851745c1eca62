#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include <spdlog/sinks/dist_sink.h>

namespace larder {

/// A file that lines are appended to, and that begins anew once it was moved away (logrotate).
/// Thread-safe.
class RotatedFile {
 public:
  /// INVALID_ARGUMENT naming `key` when the directory is not there (none is made: it would be a
  /// slip of the pen), PERMISSION_DENIED when the file cannot be appended to. `pattern` is
  /// spdlog's.
  static absl::StatusOr<std::shared_ptr<RotatedFile>> open(const std::string& key,
                                                           const std::string& path,
                                                           const std::string& pattern);
  /// Opens the path again; the old file stays in use on an error.
  absl::Status reopen();
  spdlog::sink_ptr sink() const { return sink_; }

 private:
  std::string key_;
  std::string path_;
  std::string pattern_;
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sink_ =
      std::make_shared<spdlog::sinks::dist_sink_mt>();
};

}  // namespace larder
