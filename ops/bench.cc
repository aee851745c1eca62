#include "ops/bench.h"

#include <fmt/format.h>

#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

using Operation = BenchOptions::Operation;

absl::Status check(const char* flag, double value, double min, double max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} = {}: must be {} to {}", flag, value, min, max));
}

const char* operation_word(Operation operation) {
  switch (operation) {
    case Operation::kGet:
      return "get";
    case Operation::kPut:
      return "put";
    case Operation::kMatch:
      return "match";
    case Operation::kView:
      return "view";
  }
  return "unknown";
}

absl::StatusOr<BenchRow> bench_size(const BenchOptions& options, Client& client,
                                    std::uint64_t size) {
  if (options.operation == Operation::kView) return bench_view(options, client, size);
  if (options.full) return bench_full(options, client, size);
  return bench_bytes(options, client, size);
}

/// What the figures depend on besides the machine.
absl::Status describe(const BenchOptions& options, Client& client, Report& report) {
  const Client::Stats path = client.stats();
  report.add("operation", std::string(operation_word(options.operation)));
  report.add("transport", path.transport);
  if (options.operation == Operation::kPut) {
    const bool region = path.transport == "shm" && !options.heap;
    report.add("put_path", region ? std::string("region") : path.put_path);
  }
  report.add("rounds", std::uint64_t{options.rounds});
  report.add("pause_ms", options.pause_ms);
  report.add("client_spin_us", std::uint64_t{options.spin_us});
  LARDER_ASSIGN_OR_RETURN(const Client::ServerStats stats, client.server_stats());
  for (const auto& [name, value] : stats.values) {
    const bool setting = name == "spin_us" || name == "shards" || name == "io_threads";
    if (setting) report.add("server_" + name, static_cast<std::uint64_t>(value));
  }
  return absl::OkStatus();
}

/// People get the columns that matter most, scripts all.
Report::Row columns_of(const BenchRow& row, bool all) {
  Report::Row out = report_row(row);
  if (all) return out;
  std::erase_if(out, [](const auto& column) {
    const std::string& name = column.first;
    return name.ends_with("spread_percent") ? name != "ratio_spread_percent"
                                            : name.starts_with("limit_us") || name == "depth";
  });
  return out;
}

absl::StatusOr<std::vector<BenchRow>> measure(const BenchOptions& options, Client& client) {
  std::vector<BenchRow> rows;
  for (const std::uint64_t size : options.sizes) {
    LARDER_ASSIGN_OR_RETURN(BenchRow row, bench_size(options, client, size));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

absl::Status BenchOptions::validate() const {
  for (const std::uint64_t size : sizes) {
    LARDER_RETURN_IF_ERROR(check("--size", static_cast<double>(size),
                                 static_cast<double>(limits::kBlockBytesMin.count), 256 << 20));
  }
  LARDER_RETURN_IF_ERROR(check("--batch", batch, 0, limits::kBatchKeysMax));
  LARDER_RETURN_IF_ERROR(check("--depth", depth, 0, 64));
  LARDER_RETURN_IF_ERROR(check("--positions", positions, 1, limits::kBatchKeysMax));
  LARDER_RETURN_IF_ERROR(check("--blocks", static_cast<double>(blocks), positions, 1e8));
  LARDER_RETURN_IF_ERROR(check("--load-clients", load_clients, 1, 64));
  LARDER_RETURN_IF_ERROR(check("--rounds", rounds, 5, 1000));
  LARDER_RETURN_IF_ERROR(check("--pause-ms", pause_ms, 0, 1000));
  LARDER_RETURN_IF_ERROR(check("--spin-us", spin_us, 0, 10'000));
  return check("--seconds", seconds, 0.1, 3600);
}

absl::StatusOr<ExitCode> run(const BenchOptions& options) {
  LARDER_RETURN_IF_ERROR(options.validate());
  std::vector<BenchRow> rows;
  if (options.operation == Operation::kMatch) {
    LARDER_ASSIGN_OR_RETURN(BenchRow row, bench_match(options));
    rows.push_back(std::move(row));
  }
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(options.connection, options.spin_us));
  if (rows.empty()) {
    LARDER_ASSIGN_OR_RETURN(rows, measure(options, *client));
  }
  Report report;
  LARDER_RETURN_IF_ERROR(describe(options, *client, report));
  if (rows.size() == 1 && options.json) {
    for (auto& [name, value] : report_row(rows[0]))
      report.add(name, value);
  }
  report.name_rows("rows");
  for (const BenchRow& row : rows)
    report.add_row(columns_of(row, options.json));
  report.print(options.json);
  return ExitCode::kOk;
}

}  // namespace larder
