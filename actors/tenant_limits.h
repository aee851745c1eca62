#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "store/types.h"

namespace larder {

/// What each tenant may take of a node. Immutable after load, so any thread may look. Names what it
/// knows only: a tenant is limited whether or not anybody has opened one of that name.
class TenantLimits {
 public:
  struct Limits {
    std::optional<Bytes> host;  ///< slot bytes of its blocks in host memory; nothing: no limit
    std::uint32_t share = 1;    ///< of what tenants wait for together, beside the others' shares
    bool operator==(const Limits&) const = default;
  };
  static constexpr std::uint32_t kShareMax = 1'000;
  static constexpr std::size_t kLinesMax = 4'096;  ///< with empty ones and comments
  static constexpr Bytes kFileMax{1 << 20};

  /// Lines `TENANT [host=SIZE] [share=N]`, each with one word at least behind the tenant; '#'
  /// begins a comment. SIZE as parse_bytes() has it, 0: the tenant may store nothing; N from 1 to
  /// kShareMax. The tenant `*` is every one without a line of its own; a line takes nothing from
  /// that of `*`. An empty path gives no limits. Blocks. NOT_FOUND, RESOURCE_EXHAUSTED (too large)
  /// name the file, INVALID_ARGUMENT file, line, field, value and limit.
  static absl::StatusOr<TenantLimits> load(const std::string& path);

  /// O(log tenants); allocates nothing.
  const Limits& of(std::string_view tenant) const {
    const auto found = limits_.find(tenant);
    return found == limits_.end() ? others_ : found->second;
  }

 private:
  absl::Status read_line(const std::string& line);

  std::map<std::string, Limits, std::less<>> limits_;
  Limits others_;
  bool others_named_ = false;
};

}  // namespace larder
