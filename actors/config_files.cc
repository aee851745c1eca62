#include "actors/config_files.h"

#include <filesystem>

#include <fmt/format.h>

#include "actors/tenant_limits.h"
#include "actors/token_table.h"
#include "store/status_macros.h"
#include "transport/tls.h"

namespace larder {

absl::Status check_directory_of(const std::string& key, const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (path.empty() || parent.empty() || std::filesystem::is_directory(parent, error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("{} = {}: directory {}: {}", key, path,
                                                parent.string(),
                                                error ? error.message() : std::string("is none")));
}

absl::Status check_files(const Config& config) {
  LARDER_RETURN_IF_ERROR(TokenTable::load(config.token_file).status());
  LARDER_RETURN_IF_ERROR(TenantLimits::load(config.tenant_file).status());
  if (!config.tls_cert.empty()) {
    LARDER_RETURN_IF_ERROR(TlsContext::server(config.tls_cert, config.tls_key).status());
  }
  LARDER_RETURN_IF_ERROR(check_directory_of("log_file", config.log_file));
  return check_directory_of("audit_file", config.audit_file);
}

}  // namespace larder
