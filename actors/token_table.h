#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace larder {

/// Which tenant a token stands for, and what its bearer may do there. Immutable after load; keeps
/// SHA-256 digests only, so that neither a core dump nor the file has to hold a token.
class TokenTable {
 public:
  /// SHA-256 of a token.
  using Digest = std::array<std::byte, 32>;
  struct Grant {
    std::string tenant;
    bool read = true;    ///< match, get, wait, list, touch
    bool write = true;   ///< put, claim, pin, remove
    bool admin = false;  ///< what concerns the whole node
    bool operator==(const Grant&) const = default;
  };

  /// Lines `TOKEN TENANT [read] [write] [admin]`; '#' begins a comment. TOKEN is the token itself
  /// or `sha256:` and 64 hex digits of it. No right named: read and write; admin has all three.
  /// INVALID_ARGUMENT names the line; PERMISSION_DENIED when others may read the file. An empty
  /// path gives an empty table.
  static absl::StatusOr<TokenTable> load(const std::string& path);

  static Digest digest(std::string_view token);

  bool empty() const { return grants_.empty(); }
  /// Compares every digest in time that does not depend on where it differs.
  std::optional<Grant> find(const Digest& token) const;

 private:
  std::map<Digest, Grant> grants_;
};

}  // namespace larder
