#include "actors/prometheus_text.h"

#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "actors/node_stats.h"

namespace larder {

std::string prometheus_text(const NodeContext& node) {
  using prometheus::ClientMetric;
  using prometheus::MetricFamily;
  using prometheus::MetricType;
  std::vector<MetricFamily> families;
  const auto add = [&families](std::string name, MetricType type, double value) {
    ClientMetric metric;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families.push_back({std::move(name), "See ops/RUNBOOK.md.", type, {std::move(metric)}});
  };
  for (const auto& [name, value] : collect_counters(node)) {
    add("larder_" + name + "_total", MetricType::Counter, value);
  }
  for (const auto& [name, value] : collect_gauges(node)) {
    add("larder_" + name, MetricType::Gauge, value);
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace larder
