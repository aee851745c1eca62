#include "actors/node_stats.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace larder {

namespace {

struct Gauge {
  const char* name;
  double value;
};

std::vector<Gauge> gauges(const NodeContext& node) {
  std::uint64_t blocks = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t ghosts = 0;
  for (const auto& index : node.store.indexes) {
    blocks += index->size() - index->ghosts();
    ghosts += index->ghosts();
    index_bytes += index->memory().count;
  }
  return {
      {"capacity_bytes", static_cast<double>(node.store.ledger.capacity().count)},
      {"used_bytes", static_cast<double>(node.store.ledger.used().count)},
      {"slab_bytes", static_cast<double>(node.store.slabs.total_bytes().count)},
      {"blocks", static_cast<double>(blocks)},
      {"ghosts", static_cast<double>(ghosts)},
      {"index_bytes", static_cast<double>(index_bytes)},
      {"pinned_bytes", static_cast<double>(node.pinned_bytes.load(std::memory_order_relaxed))},
      {"pins", static_cast<double>(node.pins.size())},
      {"sessions", static_cast<double>(node.sessions.load(std::memory_order_relaxed))},
      {"shards", static_cast<double>(node.store.shards())},
      {"io_threads", static_cast<double>(node.io_threads.size())},
  };
}

}  // namespace

std::vector<std::pair<std::string, double>> collect_stats(const NodeContext& node) {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& [name, value] : node.metrics.snapshot()) {
    all.emplace_back(name, static_cast<double>(value));
  }
  for (const auto& [name, value] : node.shard_counters()) {
    all.emplace_back(name, static_cast<double>(value));
  }
  for (const Gauge& gauge : gauges(node))
    all.emplace_back(gauge.name, gauge.value);
  return all;
}

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
  const auto counters = [&add](const auto& values) {
    for (const auto& [name, value] : values) {
      add("larder_" + name + "_total", MetricType::Counter, static_cast<double>(value));
    }
  };
  counters(node.metrics.snapshot());
  counters(node.shard_counters());
  for (const Gauge& gauge : gauges(node)) {
    add(std::string("larder_") + gauge.name, MetricType::Gauge, gauge.value);
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace larder
