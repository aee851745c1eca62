#include "ops/bench.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/percentile.h"
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

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Half the distance from the least to the greatest, in percent of the median.
double spread_percent(const std::vector<double>& values) {
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return 50 * (*greatest - *least) / median(values);
}

std::vector<double> ratios(const BenchRow& row) {
  std::vector<double> out;
  for (std::size_t n = 0; n < row.mib_s.size(); ++n) {
    out.push_back(row.mib_s[n] / row.limit_mib_s[n]);
  }
  return out;
}

Report::Row values_of(const BenchRow& row) {
  return {{"mib_s", median(row.mib_s)},
          {"limit_mib_s", median(row.limit_mib_s)},
          {"ratio", median(ratios(row))},
          {"us_p50", percentile(row.us, 50)},
          {"us_p99", percentile(row.us, 99)}};
}

Report::Row full_row(const BenchRow& row) {
  Report::Row out{{"bytes", row.bytes},
                  {"batch", std::uint64_t{row.batch}},
                  {"depth", std::uint64_t{row.depth}}};
  for (auto& value : values_of(row))
    out.push_back(std::move(value));
  out.emplace_back("spread_percent", spread_percent(row.mib_s));
  out.emplace_back("limit_spread_percent", spread_percent(row.limit_mib_s));
  if (!row.limit_us.empty()) out.emplace_back("limit_us_p50", percentile(row.limit_us, 50));
  return out;
}

const char* word_of(Operation operation) {
  switch (operation) {
    case Operation::kGet:
      return "get";
    case Operation::kPut:
      return "put";
    case Operation::kMatch:
      return "match";
  }
  return "unknown";
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
  LARDER_RETURN_IF_ERROR(check("--rounds", rounds, 5, 1000));
  return check("--seconds", seconds, 0.1, 3600);
}

absl::StatusOr<ExitCode> run(const BenchOptions& options) {
  LARDER_RETURN_IF_ERROR(options.validate());
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(options.connection));
  std::vector<BenchRow> rows;
  if (options.operation == Operation::kMatch) {
    LARDER_ASSIGN_OR_RETURN(BenchRow row, bench_match(options, *client));
    rows.push_back(std::move(row));
  } else {
    for (const std::uint64_t size : options.sizes) {
      LARDER_ASSIGN_OR_RETURN(BenchRow row, bench_bytes(options, *client, size));
      rows.push_back(std::move(row));
    }
  }
  const Client::Stats path = client->stats();
  Report report;
  report.add("operation", std::string(word_of(options.operation)));
  report.add("transport", path.transport);
  if (options.operation == Operation::kPut) {
    const bool region = path.transport == "shm" && !options.heap;
    report.add("put_path", region ? std::string("region") : path.put_path);
  }
  report.add("rounds", std::uint64_t{options.rounds});
  if (rows.size() == 1 && options.json) {
    for (auto& [name, value] : values_of(rows[0]))
      report.add(name, value);
  }
  report.name_rows("rows");
  for (const BenchRow& row : rows)
    report.add_row(full_row(row));
  report.print(options.json);
  return ExitCode::kOk;
}

}  // namespace larder
