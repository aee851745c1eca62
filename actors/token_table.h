#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace larder {

/// Which tenant a token stands for. Immutable after load.
class TokenTable {
 public:
  struct Grant {
    std::string tenant;
    bool admin = false;
  };

  /// Lines `TOKEN TENANT [admin]`; '#' begins a comment. INVALID_ARGUMENT names the line;
  /// PERMISSION_DENIED when others may read the file. An empty path gives an empty table.
  static absl::StatusOr<TokenTable> load(const std::string& path);

  bool empty() const { return grants_.empty(); }
  /// Compares every token in time that does not depend on where it differs.
  std::optional<Grant> find(const std::string& token) const;

 private:
  std::vector<std::pair<std::string, Grant>> grants_;
};

}  // namespace larder
