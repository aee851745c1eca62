#include "actors/audit_log.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "store/status_macros.h"

namespace larder {

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& file, Line log,
                                                         std::function<void()> lost) {
  auto audit = std::make_unique<AuditLog>();
  audit->log_ = log;
  if (file.empty()) return audit;
  LARDER_ASSIGN_OR_RETURN(audit->file_,
                          RotatedFile::open("audit_file", file, "%Y-%m-%dT%H:%M:%S.%e%z %v"));
  audit->logger_ = std::make_shared<spdlog::logger>("audit", audit->file_->sink());
  audit->logger_->flush_on(spdlog::level::info);
  audit->logger_->set_error_handler(
      [log = std::move(log), lost = std::move(lost), file](const std::string& why) {
        lost();
        log(fmt::format("audit_lost file={} error=\"{}\"", file, why));
      });
  return audit;
}

void AuditLog::add(const std::string& line) {
  if (!logger_) return log_(line);
  logger_->info("{}", line);
}

absl::Status AuditLog::reopen() {
  return file_ ? file_->reopen() : absl::OkStatus();
}

}  // namespace larder
