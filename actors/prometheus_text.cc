#include "actors/prometheus_text.h"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "actors/metric_table.h"
#include "actors/node_stats.h"

namespace larder {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::size_t kTenantSeriesMax = 256;

double seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

MetricFamily family_of(const MetricFamilyRow& row, const std::map<std::string, double>& figures) {
  MetricFamily family;
  family.name = row.name;
  family.help = row.help;
  family.type = row.counter ? MetricType::Counter : MetricType::Gauge;
  for (const MetricSeries& series : row.series) {
    const auto found = figures.find(series.figure);
    if (found == figures.end()) continue;
    ClientMetric metric;
    (row.counter ? metric.counter.value : metric.gauge.value) = found->second;
    for (const auto& [name, value] : series.labels)
      metric.label.push_back({name, value});
    family.metric.push_back(std::move(metric));
  }
  return family;
}

ClientMetric gauge_of(const std::string& tenant, Bytes value) {
  ClientMetric metric;
  metric.gauge.value = static_cast<double>(value.count);
  metric.label = {{"tenant", tenant}};
  return metric;
}

/// Of tenants that have blocks or a quota, the first kTenantSeriesMax: names come from the token
/// file, and may change for ever.
std::vector<MetricFamily> tenants_of(const NodeContext& node) {
  MetricFamily used{"larder_tenant_used_bytes",
                    "Bytes of slots that a tenant's blocks have.",
                    MetricType::Gauge,
                    {}};
  MetricFamily quota{"larder_tenant_quota_bytes",
                     "Bytes of slots that a tenant's blocks may have; absent: no limit.",
                     MetricType::Gauge,
                     {}};
  std::uint32_t number = 0;
  for (const std::string& name : node.namespaces->tenants()) {
    const TenantId tenant(number++);
    const Bytes bytes = node.store.tenants.used(tenant);
    const auto most = node.store.tenants.quota(tenant);
    if (bytes.count == 0 && !most) continue;
    if (used.metric.size() == kTenantSeriesMax) break;
    used.metric.push_back(gauge_of(name, bytes));
    if (most) quota.metric.push_back(gauge_of(name, *most));
  }
  return {std::move(used), std::move(quota)};
}

ClientMetric series_of(const LatencyHistogram& histogram) {
  ClientMetric metric;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= LatencyHistogram::kBounds; ++i) {
    total += histogram.count(i);
    const double bound = i == LatencyHistogram::kBounds ? std::numeric_limits<double>::infinity()
                                                        : seconds(LatencyHistogram::bound(i));
    metric.histogram.bucket.push_back({total, bound});
  }
  metric.histogram.sample_count = total;
  metric.histogram.sample_sum = seconds(histogram.sum());
  return metric;
}

using Labels = std::vector<ClientMetric::Label>;

void add_times(const OperationTimes& times, const Labels& labels, MetricFamily& family) {
  for (std::size_t operation = 0; operation < kOperationNames.size(); ++operation) {
    for (std::size_t transport = 0; transport < kTransportNames.size(); ++transport) {
      ClientMetric metric = series_of(times.of(operation, transport));
      metric.label = labels;
      metric.label.push_back({"operation", kOperationNames[operation]});
      metric.label.push_back({"transport", kTransportNames[transport]});
      family.metric.push_back(std::move(metric));
    }
  }
}

MetricFamily operation_times(const OperationTimes& times) {
  MetricFamily family{"larder_operation_seconds",
                      "Time of a call in the daemon: since its session was seen to be ready until "
                      "its answer is queued.",
                      MetricType::Histogram,
                      {}};
  add_times(times, {}, family);
  return family;
}

/// Where there are tokens: of tenants that have had a session.
std::vector<MetricFamily> uses_of_tenants(const NodeContext& node) {
  MetricFamily times{"larder_tenant_operation_seconds",
                     "As larder_operation_seconds, of a tenant's calls.",
                     MetricType::Histogram,
                     {}};
  MetricFamily sessions{
      "larder_tenant_sessions", "Sessions that a tenant has open.", MetricType::Gauge, {}};
  MetricFamily pinned{"larder_tenant_pinned_bytes",
                      "Bytes of blocks that a tenant's requests and pins hold.",
                      MetricType::Gauge,
                      {}};
  if (!node.has_tenants()) return {};
  for (const TenantUse* use : node.tenant_uses.all()) {
    if (sessions.metric.size() == kTenantSeriesMax) break;
    add_times(use->times, {{"tenant", use->name}}, times);
    sessions.metric.push_back(gauge_of(use->name, Bytes{use->sessions.load()}));
    pinned.metric.push_back(gauge_of(use->name, Bytes{use->pinned.load()}));
  }
  return {std::move(times), std::move(sessions), std::move(pinned)};
}

MetricFamily build_info(const NodeContext& node) {
  ClientMetric metric;
  metric.gauge.value = 1;
  metric.label = {{"version", LARDER_VERSION},
                  {"compiler", __VERSION__},
                  {"policy", node.config().policy},
                  {"node", node.node_id}};
  return {"larder_build_info",
          "Always 1; the labels tell what runs.",
          MetricType::Gauge,
          {std::move(metric)}};
}

}  // namespace

std::string prometheus_text(const NodeContext& node) {
  std::map<std::string, double> figures;
  for (auto& [name, value] : collect_stats(node))
    figures[name] = value;
  std::vector<MetricFamily> families;
  for (const MetricFamilyRow& row : metric_table())
    families.push_back(family_of(row, figures));
  families.push_back(operation_times(node.metrics.times));
  for (auto& of_tenants : {&tenants_of, &uses_of_tenants}) {
    for (MetricFamily& family : of_tenants(node)) {
      if (!family.metric.empty()) families.push_back(std::move(family));
    }
  }
  families.push_back(build_info(node));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace larder
