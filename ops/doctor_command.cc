#include "ops/doctor_command.h"

#include "actors/config.h"
#include "ops/doctor_daemon.h"
#include "ops/doctor_machine.h"
#include "ops/doctor_memory.h"
#include "ops/report.h"

namespace larder {

namespace {

const char* level_word(Finding::Level level) {
  switch (level) {
    case Finding::Level::kOk:
      return "ok";
    case Finding::Level::kAdvice:
      return "advice";
    case Finding::Level::kProblem:
      return "problem";
  }
  return "";
}

Bytes capacity_to_judge_by(const DoctorCommand& command, const DaemonSeen& daemon) {
  if (command.host_bytes > 0) return {command.host_bytes};
  if (daemon.capacity.count > 0) return daemon.capacity;
  return resolved(Config{}, probe_machine(command.root)).host_bytes;
}

std::uint64_t count_of(const Findings& findings, Finding::Level level) {
  std::uint64_t count = 0;
  for (const Finding& finding : findings)
    count += finding.level == level ? 1 : 0;
  return count;
}

}  // namespace

absl::StatusOr<ExitCode> run(const DoctorCommand& command) {
  const HostFiles files(command.root);
  if (!files.exists("/proc/self/mounts")) {
    return absl::NotFoundError(
        fmt::format("--root {}: has no proc/self/mounts: not a machine's root", command.root));
  }
  DaemonSeen daemon;
  if (!command.machine_only) daemon = look_at_daemon(command.connection);
  Findings all = daemon.findings;
  for (const Findings& part :
       {look_at_memory(files, capacity_to_judge_by(command, daemon), daemon.process),
        look_at_machine(files)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  const std::uint64_t problems = count_of(all, Finding::Level::kProblem);
  Report report;
  report.add("problems", problems);
  report.add("advice", count_of(all, Finding::Level::kAdvice));
  report.name_rows("findings");
  for (const Finding& finding : all) {
    report.add_row({{"level", std::string(level_word(finding.level))},
                    {"check", finding.check},
                    {"found", finding.found},
                    {"do", finding.action}});
  }
  report.print(command.json);
  return problems == 0 ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace larder
