#include "ops/bench_times.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/percentile.h"

namespace larder {
namespace {

std::vector<double> ratios(const BenchTimes& larder, const BenchTimes& limit) {
  std::vector<double> out;
  for (std::size_t n = 0; n < std::min(larder.mib_s.size(), limit.mib_s.size()); ++n) {
    out.push_back(larder.mib_s[n] / limit.mib_s[n]);
  }
  return out;
}

void add_limits(const BenchRow& row, Report::Row& out) {
  const BenchTimes& best = best_limit(row);
  const auto against_best = ratios(row.larder, best);
  out.emplace_back("limit", best.name);
  out.emplace_back("limit_mib_s", median(best.mib_s));
  out.emplace_back("limit_spread_percent", spread_percent(best.mib_s));
  out.emplace_back("ratio", median(against_best));
  out.emplace_back("ratio_spread_percent", spread_percent(against_best));
  out.emplace_back("limit_us_p50", percentile(best.us, 50));
  out.emplace_back("limit_us_p99", percentile(best.us, 99));
  if (row.limits.size() == 1) return;
  for (const BenchTimes& limit : row.limits) {
    out.emplace_back(limit.name + "_mib_s", median(limit.mib_s));
    out.emplace_back("ratio_" + limit.name, median(ratios(row.larder, limit)));
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double spread_percent(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return 50 * (*greatest - *least) / median(values);
}

const BenchTimes& best_limit(const BenchRow& row) {
  return *std::max_element(
      row.limits.begin(), row.limits.end(),
      [](const BenchTimes& a, const BenchTimes& b) { return median(a.mib_s) < median(b.mib_s); });
}

Report::Row report_row(const BenchRow& row) {
  Report::Row out{{"bytes", row.bytes},
                  {"batch", std::uint64_t{row.batch}},
                  {"depth", std::uint64_t{row.depth}}};
  if (!row.larder.mib_s.empty()) {
    out.emplace_back("mib_s", median(row.larder.mib_s));
    out.emplace_back("spread_percent", spread_percent(row.larder.mib_s));
  }
  out.emplace_back("us_p50", percentile(row.larder.us, 50));
  out.emplace_back("us_p99", percentile(row.larder.us, 99));
  if (!row.limits.empty()) add_limits(row, out);
  out.insert(out.end(), row.more.begin(), row.more.end());
  return out;
}

}  // namespace larder
