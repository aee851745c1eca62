#include "actors/token_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include "store/slab.h"
#include "store/status_macros.h"
#include "store/utf8.h"

namespace larder {

namespace {

constexpr std::size_t kTokenMin = 16;
constexpr std::string_view kHashed = "sha256:";

/// Nothing when it is neither a token nor a digest.
std::optional<TokenTable::Digest> digest_of(const std::string& word) {
  if (!word.starts_with(kHashed)) {
    if (word.size() < kTokenMin) return std::nullopt;
    return TokenTable::digest(word);
  }
  const std::string_view hex = std::string_view(word).substr(kHashed.size());
  TokenTable::Digest digest{};
  const bool whole =
      hex.size() == 2 * digest.size() && std::all_of(hex.begin(), hex.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (!whole) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(absl::string_view(hex.data(), hex.size()));
  std::transform(bytes.begin(), bytes.end(), digest.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return digest;
}

/// The rights behind the tenant's name; an error names the word that is none.
absl::StatusOr<TokenTable::Grant> grant_of(std::istream& words, std::string tenant) {
  TokenTable::Grant named{.tenant = tenant, .read = false, .write = false, .admin = false};
  bool any = false;
  for (std::string right; words >> right; any = true) {
    if (right == "read") {
      named.read = true;
    } else if (right == "write") {
      named.write = true;
    } else if (right == "admin") {
      named.read = named.write = named.admin = true;
    } else {
      return absl::InvalidArgumentError(
          fmt::format("right {}: must be read, write or admin", absl::CHexEscape(right)));
    }
  }
  if (!any) return TokenTable::Grant{.tenant = std::move(tenant)};
  return named;
}

absl::Status check_tenant(const std::string& name) {
  if (name.size() > SlabFileHeader::kTenantNameMax) {
    return absl::InvalidArgumentError(fmt::format("tenant of {} bytes, the limit is {}",
                                                  name.size(), SlabFileHeader::kTenantNameMax));
  }
  // It becomes part of a JSON file, of labels and log lines.
  if (!is_utf8(name)) return absl::InvalidArgumentError("the tenant's name is not UTF-8");
  return absl::OkStatus();
}

}  // namespace

TokenTable::Digest TokenTable::digest(std::string_view token) {
  Digest out{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

absl::StatusOr<TokenTable> TokenTable::load(const std::string& path) {
  TokenTable table;
  if (path.empty()) return table;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(
        fmt::format("token_file {} cannot be read: {}", path, std::strerror(errno)));
  }
  if ((info.st_mode & 077U) != 0) {
    return absl::PermissionDeniedError(fmt::format(
        "token_file {} has mode {:o}; others may read it, use 600", path, info.st_mode & 0777U));
  }
  std::ifstream in(path);
  if (!in || !S_ISREG(info.st_mode)) {
    return absl::NotFoundError(fmt::format("token_file {} cannot be read: {}", path,
                                           in ? "is no file" : std::strerror(errno)));
  }
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto wrong = [&](const std::string& why) {
      return absl::InvalidArgumentError(
          fmt::format("token_file {} line {}: {}", path, number, why));
    };
    std::istringstream words(line.substr(0, line.find('#')));
    std::string token;
    std::string tenant;
    if (!(words >> token)) continue;
    const auto digest = digest_of(token);
    const bool named = static_cast<bool>(words >> tenant);
    if (!digest) {  // not shown: it may be a token all the same
      return wrong(
          fmt::format("token (the first word, of {} characters): must have at least {}, or be {} "
                      "and 64 lower-case hex digits",
                      token.size(), kTokenMin, kHashed));
    }
    if (!named) {
      return wrong("no tenant behind the token: expected TOKEN TENANT [read] [write] [admin]");
    }
    if (tenant == "*") return wrong("tenant *: a token is of one tenant; name it");
    if (absl::Status word = check_tenant(tenant); !word.ok()) {
      return wrong(std::string(word.message()));
    }
    auto grant = grant_of(words, tenant);
    if (!grant.ok()) return wrong(std::string(grant.status().message()));
    if (!table.grants_.emplace(*digest, *std::move(grant)).second) {
      return wrong("the token stands in an earlier line");
    }
  }
  if (in.bad()) return absl::NotFoundError(fmt::format("token_file {} cannot be read", path));
  return table;
}

std::optional<TokenTable::Grant> TokenTable::find(const Digest& token) const {
  std::optional<Grant> found;
  for (const auto& [known, grant] : grants_) {
    if (CRYPTO_memcmp(known.data(), token.data(), token.size()) == 0) found = grant;
  }
  return found;
}

}  // namespace larder
