#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace larder {

/// Lines of who removed, pinned or changed what, each with its time, appended to a file that is
/// written through.
class AuditLog {
 public:
  using Line = std::function<void(const std::string&)>;

  /// PERMISSION_DENIED when the file cannot be appended to. The sink is thread-safe and owns the
  /// file; it never fails: what cannot be written is told to `log`.
  static absl::StatusOr<Line> open(const std::string& file, Line log);
};

}  // namespace larder
