#include "actors/tenant_limits.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include <fmt/format.h>
#include <sys/stat.h>

#include "actors/config_keys.h"
#include "store/slab.h"
#include "store/status_macros.h"
#include "store/utf8.h"

namespace larder {

namespace {

constexpr std::string_view kHost = "host=";
constexpr std::string_view kShare = "share=";

/// A word of the file as a message shows it: one line, not long, of printable characters.
std::string shown(std::string_view word) {
  constexpr std::size_t kShownMax = 40;
  const std::string_view start = word.substr(0, kShownMax);
  return absl::CHexEscape(absl::string_view(start.data(), start.size())) +
         (word.size() > kShownMax ? "…" : "");
}

absl::Status wrong(std::string_view field, std::string_view value, const std::string& why) {
  return absl::InvalidArgumentError(fmt::format("{} = {}: {}", field, shown(value), why));
}

absl::Status check_tenant(const std::string& name) {
  if (name.size() > SlabFileHeader::kTenantNameMax) {
    return wrong("tenant", name,
                 fmt::format("has {} bytes, must have at most {}", name.size(),
                             SlabFileHeader::kTenantNameMax));
  }
  // A forgotten tenant leaves a limit as the first word.
  if (name.starts_with(kHost) || name.starts_with(kShare)) {
    return wrong("tenant", name, "is a limit; the line must begin with the tenant's name");
  }
  return is_utf8(name) ? absl::OkStatus() : wrong("tenant", name, "must be UTF-8");
}

absl::Status read_host(std::string_view value, TenantLimits::Limits& limits) {
  if (limits.host) return wrong("host", value, "stands twice in the line");
  const auto bytes = parse_bytes(std::string(value));
  if (!bytes.ok()) return wrong("host", value, std::string(bytes.status().message()));
  limits.host = *bytes;
  return absl::OkStatus();
}

absl::Status read_share(std::string_view value, std::optional<std::uint32_t>& share) {
  if (share) return wrong("share", value, "stands twice in the line");
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 1 ||
      number > TenantLimits::kShareMax) {
    return wrong("share", value,
                 fmt::format("must be a whole number, 1 to {}", TenantLimits::kShareMax));
  }
  share = number;
  return absl::OkStatus();
}

/// The words behind the tenant's name.
absl::StatusOr<TenantLimits::Limits> read_limits(std::istream& words, const std::string& tenant) {
  TenantLimits::Limits limits;
  std::optional<std::uint32_t> share;
  std::string word;
  bool any = false;
  for (; words >> word; any = true) {
    const std::string_view all = word;
    if (all.starts_with(kHost)) {
      LARDER_RETURN_IF_ERROR(read_host(all.substr(kHost.size()), limits));
    } else if (all.starts_with(kShare)) {
      LARDER_RETURN_IF_ERROR(read_share(all.substr(kShare.size()), share));
    } else {
      return wrong("word", word, "must be host=SIZE or share=N");
    }
  }
  if (!any) return wrong("tenant", tenant, "must be followed by host=SIZE or share=N");
  limits.share = share.value_or(1);
  return limits;
}

}  // namespace

absl::Status TenantLimits::read_line(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string tenant;
  if (!(words >> tenant)) return absl::OkStatus();
  LARDER_RETURN_IF_ERROR(check_tenant(tenant));
  LARDER_ASSIGN_OR_RETURN(const Limits limits, read_limits(words, tenant));
  const bool is_new =
      tenant == "*" ? !std::exchange(others_named_, true) : limits_.emplace(tenant, limits).second;
  if (!is_new) return wrong("tenant", tenant, "stands in an earlier line");
  if (tenant == "*") others_ = limits;
  return absl::OkStatus();
}

absl::StatusOr<TenantLimits> TenantLimits::load(const std::string& path) {
  TenantLimits table;
  if (path.empty()) return table;
  const auto unreadable = [&path] {
    return absl::NotFoundError(fmt::format("tenant_file {} cannot be read", path));
  };
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return unreadable();
  if (static_cast<std::uint64_t>(info.st_size) > kFileMax.count) {
    return absl::ResourceExhaustedError(fmt::format("tenant_file {} has {} bytes, the limit is {}",
                                                    path, info.st_size, kFileMax.count));
  }
  std::ifstream in(path);
  if (!in) return unreadable();
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const absl::Status read = number <= kLinesMax
                                  ? table.read_line(line)
                                  : absl::InvalidArgumentError(fmt::format(
                                        "the file must have at most {} lines", kLinesMax));
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("tenant_file {} line {}: {}", path, number, std::string(read.message())));
    }
  }
  if (in.bad()) return unreadable();
  return table;
}

}  // namespace larder
