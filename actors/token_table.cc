#include "actors/token_table.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>

#include "store/slab.h"

namespace larder {

namespace {

constexpr std::size_t kTokenMin = 16;

bool equal_in_constant_time(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::load(const std::string& path) {
  TokenTable table;
  if (path.empty()) return table;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(fmt::format("token_file {} cannot be read", path));
  }
  if ((info.st_mode & 077U) != 0) {
    return absl::PermissionDeniedError(fmt::format(
        "token_file {} has mode {:o}; others may read it, use 600", path, info.st_mode & 0777U));
  }
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string token;
    std::string tenant;
    std::string role;
    if (!(words >> token)) continue;
    if (!(words >> tenant) || token.size() < kTokenMin || ((words >> role) && role != "admin")) {
      return absl::InvalidArgumentError(
          fmt::format("token_file {} line {}: expected TOKEN (at least {} characters) TENANT "
                      "[admin]",
                      path, number, kTokenMin));
    }
    if (tenant.size() > SlabFileHeader::kTenantNameMax) {
      return absl::InvalidArgumentError(
          fmt::format("token_file {} line {}: tenant of {} bytes, the limit is {}", path, number,
                      tenant.size(), SlabFileHeader::kTenantNameMax));
    }
    if (table.find(token)) {
      return absl::InvalidArgumentError(
          fmt::format("token_file {} line {}: the token stands in an earlier line", path, number));
    }
    table.grants_.emplace_back(token, Grant{tenant, role == "admin"});
  }
  return table;
}

std::optional<TokenTable::Grant> TokenTable::find(const std::string& token) const {
  std::optional<Grant> found;
  for (const auto& [known, grant] : grants_) {
    if (equal_in_constant_time(known, token)) found = grant;
  }
  return found;
}

}  // namespace larder
