#include "ops/status_command.h"

#include <cmath>
#include <map>
#include <thread>

#include <unistd.h>

#include "actors/standard_streams.h"
#include "ops/clock.h"
#include "ops/report.h"
#include "store/status_macros.h"

namespace larder {
namespace {

using Figures = std::map<std::string, double>;

absl::StatusOr<Figures> figures_of(Client& client) {
  LARDER_ASSIGN_OR_RETURN(const Client::ServerStats stats, client.server_stats());
  return Figures(stats.values.begin(), stats.values.end());
}

double figure(const Figures& figures, const char* name) {
  const auto found = figures.find(name);
  return found == figures.end() ? 0 : found->second;
}

/// What larderd counts, which is whole, as what it is: the wire carries all figures as doubles.
Report::Value whole(double value) {
  constexpr double kWholeMax = 0x1p53;
  if (value < 0 || value > kWholeMax || value != std::floor(value)) return value;
  return static_cast<std::uint64_t>(value);
}

Report rates(const Figures& before, const Figures& after, double seconds) {
  const auto rate = [&](const char* name) {
    return (figure(after, name) - figure(before, name)) / seconds;
  };
  const double capacity = figure(after, "capacity_bytes");
  const double gets = rate("get_hits") + rate("get_misses");
  Report report;
  report.add("capacity_mib", capacity / 0x1p20);
  report.add("used_mib", figure(after, "used_bytes") / 0x1p20);
  report.add("used_percent", capacity > 0 ? 100 * figure(after, "used_bytes") / capacity : 0.0);
  report.add("pinned_mib", figure(after, "pinned_bytes") / 0x1p20);
  report.add("blocks", whole(figure(after, "blocks")));
  report.add("sessions", whole(figure(after, "sessions")));
  report.add("requests_per_s", rate("requests"));
  report.add("matches_per_s", rate("matches"));
  report.add("gets_per_s", gets);
  report.add("get_hit_percent", gets > 0 ? 100 * rate("get_hits") / gets : 0.0);
  report.add("get_mib_per_s", rate("get_bytes") / 0x1p20);
  report.add("puts_per_s", rate("put_stored"));
  report.add("put_mib_per_s", rate("put_bytes") / 0x1p20);
  report.add("evictions_per_s", rate("evictions"));
  return report;
}

}  // namespace

absl::StatusOr<ExitCode> run(const StatusCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(command.connection));
  LARDER_ASSIGN_OR_RETURN(const Client::ServerStats server, client->server_stats());
  const Client::Stats path = client->stats();
  Report report;
  report.add("version", server.version);
  report.add("node", server.node);
  report.add("policy", server.policy);
  report.add("transport", path.transport);
  report.add("put_path", path.put_path);
  if (!path.put_path_reason.empty()) report.add("put_path_reason", path.put_path_reason);
  const Figures figures(server.values.begin(), server.values.end());
  if (figure(figures, "capacity_bytes") < figure(figures, "capacity_configured_bytes")) {
    report.add("capacity_lowered", "memory is short: larder doctor");
  }
  for (const auto& [name, value] : server.values)
    report.add(name, whole(value));
  report.name_rows("tenants");
  for (const auto& row : server.tenants) {
    report.add_row({{"tenant", row.tenant},
                    {"used_mib", static_cast<double>(row.used_bytes) / 0x1p20},
                    {"quota_mib", static_cast<double>(row.quota_bytes) / 0x1p20},
                    {"sessions", row.sessions},
                    {"pinned_mib", static_cast<double>(row.pinned_bytes) / 0x1p20},
                    {"held_mib", static_cast<double>(row.held_bytes) / 0x1p20}});
  }
  report.print(command.json);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> run(const TopCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(command.connection));
  LARDER_ASSIGN_OR_RETURN(Figures before, figures_of(*client));
  Time since = clock_now();
  const bool screen = isatty(STDOUT_FILENO) != 0 && !command.json && !command.once;
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(command.interval_ms));
    LARDER_ASSIGN_OR_RETURN(Figures after, figures_of(*client));
    const Time now = clock_now();
    if (screen) write_output("\x1b[H\x1b[2J");  // home, clear
    rates(before, after, seconds_between(since, now)).print(command.json);
    if (command.once || output_lost()) return ExitCode::kOk;
    before = std::move(after);
    since = now;
  }
}

}  // namespace larder
