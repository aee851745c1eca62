#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/messages.h"
#include "store/node_store.h"

namespace larder {

struct SlabActorOptions {
  NodeStore* store = nullptr;
  /// The shards as they are now (they change when one is restarted).
  std::function<std::vector<ShardHandle>()> shards;
  std::function<std::string(TenantId)> tenant_name;
  /// Sessions are told that a slab is gone before its files are.
  std::function<void(SlabId)> announce_retired;
  /// One line a transition; the caller logs.
  std::function<void(const std::string&)> log;
};

/// Provides free slots: makes a slab while capacity allows, else has shards evict from the same
/// pool, else empties the least valuable slab of another pool and makes it anew. Blocks on files
/// and on shards' answers: spawn it detached.
void slab_actor(caf::blocking_actor* self, SlabActorOptions options);

}  // namespace larder
