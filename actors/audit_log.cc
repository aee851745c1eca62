#include "actors/audit_log.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

namespace larder {

absl::StatusOr<AuditLog::Line> AuditLog::open(const std::string& file, Line log) {
  if (file.empty()) return log;
  std::shared_ptr<spdlog::logger> sink;
  try {
    sink = spdlog::basic_logger_mt(fmt::format("audit {}", file), file);
  } catch (const spdlog::spdlog_ex& e) {
    return absl::PermissionDeniedError(fmt::format("audit_file {}: {}", file, e.what()));
  }
  spdlog::drop(sink->name());  // ours alone
  sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
  sink->flush_on(spdlog::level::info);
  sink->set_error_handler([log, file](const std::string& why) {
    log(fmt::format("audit_lost file={} error=\"{}\"", file, why));
  });
  return Line([sink](const std::string& line) { sink->info("{}", line); });
}

}  // namespace larder
