#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/capacity_keeper.h"
#include "actors/namespace_table.h"
#include "actors/shard_calls.h"
#include "actors/shard_counters.h"
#include "actors/tenant_port.h"
#include "store/node_store.h"

namespace larder {

/// The actor system of a node: shards and their supervisor, slabs, tenants. Hides CAF from the rest
/// of the daemon.
class ActorCore {
 public:
  struct Options {
    NodeStore* store = nullptr;
    std::shared_ptr<NamespaceTable> namespaces;
    PolicyFactory make_policy;
    std::vector<std::unique_ptr<ShardCounters>>* counters = nullptr;
    std::vector<std::vector<AdoptItem>> adopted;
    std::function<void(SlabId)> announce_retired;
    std::function<void(const std::string&)> log;
    std::function<void()> on_restart;
    NodeMetrics* metrics = nullptr;
    std::function<CapacityKeeper::Wanted()> wanted_capacity;
    MemoryProbe probe;
  };

  /// Returns when every shard has adopted its blocks.
  explicit ActorCore(Options options);
  ~ActorCore();  ///< ends every actor and joins

  ShardPort& shards();
  TenantPort& tenants();
  /// Returns at once; shards change one step after the other, and go on serving reads meanwhile.
  void change_policy(PolicyChange change);
  /// For tests: ends a shard's actor as a fault would.
  void kill_shard(ShardId id);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder
