#include "ops/config_command.h"

#include "actors/config.h"
#include "actors/config_files.h"
#include "ops/report.h"

namespace larder {

absl::StatusOr<ExitCode> run(const ConfigCheckCommand& command) {
  const auto config = load_config_file(command.file);
  const absl::Status found = config.ok() ? check_files(*config) : config.status();
  if (!found.ok()) {  // whatever it is, it is the input
    return absl::InvalidArgumentError(std::string(found.message()));
  }
  Report report;
  report.add("file", command.file);
  report.add("valid", true);
  report.print(command.json);
  return ExitCode::kOk;
}

}  // namespace larder
