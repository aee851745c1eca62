#include "actors/rotated_file.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>

#include "actors/config_files.h"
#include "store/status_macros.h"

namespace larder {

absl::StatusOr<std::shared_ptr<RotatedFile>> RotatedFile::open(const std::string& key,
                                                               const std::string& path,
                                                               const std::string& pattern) {
  auto file = std::make_shared<RotatedFile>();
  file->key_ = key;
  file->path_ = path;
  file->pattern_ = pattern;
  LARDER_RETURN_IF_ERROR(file->reopen());
  return file;
}

absl::Status RotatedFile::reopen() {
  LARDER_RETURN_IF_ERROR(check_directory_of(key_, path_));  // spdlog would make it
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path_);
    file->set_pattern(pattern_);
    sink_->set_sinks({std::move(file)});
  } catch (const spdlog::spdlog_ex& e) {
    return absl::PermissionDeniedError(fmt::format("{} {}: {}", key_, path_, e.what()));
  }
  return absl::OkStatus();
}

}  // namespace larder
