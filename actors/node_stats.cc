#include "actors/node_stats.h"

namespace larder {

NodeFigures collect_counters(const NodeContext& node) {
  NodeFigures all;
  for (const auto& [name, value] : node.metrics.snapshot()) {
    all.emplace_back(name, static_cast<double>(value));
  }
  for (const auto& [name, value] : node.shard_counters()) {
    all.emplace_back(name, static_cast<double>(value));
  }
  return all;
}

NodeFigures collect_gauges(const NodeContext& node) {
  std::uint64_t blocks = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t ghosts = 0;
  for (const auto& index : node.store.indexes) {
    blocks += index->size() - index->ghosts();
    ghosts += index->ghosts();
    index_bytes += index->memory().count;
  }
  NodeFigures all = {
      {"capacity_bytes", static_cast<double>(node.store.budget.ledger.capacity().count)},
      {"capacity_configured_bytes", static_cast<double>(node.config().host_bytes.count)},
      {"used_bytes", static_cast<double>(node.store.budget.ledger.used().count)},
      {"slab_bytes", static_cast<double>(node.store.slabs.total_bytes().count)},
      {"blocks", static_cast<double>(blocks)},
      {"ghosts", static_cast<double>(ghosts)},
      {"index_bytes", static_cast<double>(index_bytes)},
      {"pinned_bytes", static_cast<double>(node.pins.pot().taken())},
      {"pins", static_cast<double>(node.pins.size())},
      {"sessions", static_cast<double>(node.sessions.load(std::memory_order_relaxed))},
      {"shards", static_cast<double>(node.store.shards())},
      {"io_threads", static_cast<double>(node.io_threads.size())},
  };
  const std::uint64_t room = node.metrics.memory_room.load(std::memory_order_relaxed);
  if (room != NodeMetrics::kRoomUnknown) {
    all.emplace_back("memory_room_bytes", static_cast<double>(room));
  }
  return all;
}

NodeFigures collect_stats(const NodeContext& node) {
  NodeFigures all = collect_counters(node);
  for (auto& gauge : collect_gauges(node))
    all.push_back(std::move(gauge));
  all.emplace_back("spin_us", static_cast<double>(node.config().spin_us));
  all.emplace_back("allow_trace_time", node.config().allow_trace_time ? 1 : 0);
  return all;
}

}  // namespace larder
