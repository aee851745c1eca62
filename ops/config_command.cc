#include "ops/config_command.h"

#include "actors/config.h"
#include "ops/report.h"

namespace larder {

absl::StatusOr<ExitCode> run(const ConfigCheckCommand& command) {
  const auto config = load_config_file(command.file);
  if (!config.ok() && !command.json) return config.status();
  Report report;
  report.add("file", command.file);
  report.add("valid", config.ok());
  if (!config.ok()) report.add("error", std::string(config.status().message()));
  report.print(command.json);
  return exit_code_of(config.status());
}

}  // namespace larder
