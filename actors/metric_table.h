#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace larder {

/// A time series of /metrics that shows one figure of node_stats.h.
struct MetricSeries {
  const char* figure;  ///< its name there, and in `larder status`
  std::vector<std::pair<std::string, std::string>> labels;
};

/// A metric as Prometheus knows it: one name, one meaning, one or more series.
struct MetricFamilyRow {
  const char* name;
  bool counter;
  const char* help;
  std::vector<MetricSeries> series;
};

/// Every counter and gauge of /metrics: `larder_`, a noun, its unit, and `_total` for counters. A
/// figure that no row names is not exported; a test sees to it that each has one.
std::span<const MetricFamilyRow> metric_table();

}  // namespace larder
