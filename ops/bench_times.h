#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/report.h"

namespace larder {

/// What one program did in a benchmark: Larder, or a limit of the machine.
struct BenchTimes {
  std::string name;
  std::vector<double> mib_s;  ///< by round
  std::vector<float> us;      ///< each call
  /// Each call's time inside the daemon, as its reply says; of matches alone.
  std::vector<float> residence_us = {};
};

/// One size's answer: rounds in which Larder and every limit took turns.
struct BenchRow {
  std::uint64_t bytes = 0;
  std::uint32_t batch = 0;
  std::uint32_t depth = 0;
  BenchTimes larder{.name = "larder", .mib_s = {}, .us = {}};
  std::vector<BenchTimes> limits = {};  ///< may be none
  Report::Row more = {};                ///< what only this benchmark tells
};

double median(std::vector<double> values);
/// Half the distance from the least to the greatest, in percent of the median.
double spread_percent(const std::vector<double>& values);
/// The limit with the greatest median; there is one at least.
const BenchTimes& best_limit(const BenchRow& row);
/// Medians over rounds, of ratios too: each round's two rates were taken beside each other.
Report::Row report_row(const BenchRow& row);

}  // namespace larder
