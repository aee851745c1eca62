#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/capacity_keeper.h"
#include "actors/messages.h"
#include "store/node_store.h"

namespace larder {

struct SlabActorOptions {
  NodeStore* store = nullptr;
  NodeMetrics* metrics = nullptr;
  /// The shards as they are now (they change when one is restarted).
  std::function<std::vector<ShardHandle>()> shards;
  std::function<std::string(TenantId)> tenant_name;
  /// Sessions are told that a slab is gone before its files are.
  std::function<void(SlabId)> announce_retired;
  std::function<Time()> now;
  /// One line a transition; the caller logs.
  std::function<void(const std::string&)> log;
  std::function<CapacityKeeper::Wanted()> wanted_capacity;
  MemoryProbe probe;
};

/// Gives a SlabDesk a mailbox, and the CapacityKeeper its turns; answers who asks, always. Blocks
/// on files and on shards' answers: spawn it detached.
void slab_actor(caf::blocking_actor* self, SlabActorOptions options);

}  // namespace larder
