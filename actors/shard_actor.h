#pragma once

#include <functional>
#include <memory>

#include <caf/all.hpp>

#include "actors/messages.h"
#include "actors/shard_counters.h"
#include "actors/shard_gate.h"
#include "store/node_store.h"

namespace larder {

/// What a shard actor is made from. All of it outlives the actor.
struct ShardActorOptions {
  ShardId id;
  NodeStore* store = nullptr;
  ShardCounters* counters = nullptr;
  PolicyFactory make_policy;
  SlabHandle slabs;
  std::function<Time()> now;
  std::function<std::int64_t()> wall_ns;
  /// Tells a shard that it has a cheaper victim than the caller: to evict.
  std::function<void(ShardId)> poke;
  /// Blocks of a former run, for the first actor of this shard; null otherwise.
  std::shared_ptr<const std::vector<AdoptItem>> adopt;
  /// Rebuild policy state from index and headers first (a predecessor died): in steps; reads go on
  /// meanwhile, what is sent waits.
  bool rebuild = false;
  /// Through which io threads come to this actor's desk; null: none does.
  std::shared_ptr<ShardGate> gate;
  Duration tick{std::chrono::milliseconds(20)};  ///< four times as long while nothing happens
};

/// Gives one Shard a mailbox, and a gate for what is too short for one. Between them they serialise
/// every write to its index: this is the whole of its locking.
ShardHandle::behavior_type shard_actor(ShardHandle::pointer self, ShardActorOptions options);

}  // namespace larder
