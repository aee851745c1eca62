#include "actors/node_actor.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace larder {

void ActorPorts::set_shard(ShardId id, ShardHandle handle, std::shared_ptr<ShardGate> gate) {
  Slot& slot = slots_[id.value()];
  absl::MutexLock lock(&slot.mutex);
  slot.way = {std::move(handle), std::move(gate)};
}

void ActorPorts::close(ShardId id) {
  if (const Way to = way(id); to.gate) to.gate->close();
}

ActorPorts::Way ActorPorts::way(ShardId id) const {
  const Slot& slot = slots_[id.value()];
  absl::MutexLock lock(&slot.mutex);
  return slot.way;
}

ShardHandle ActorPorts::shard(ShardId id) const {
  return way(id).handle;
}

std::vector<ShardHandle> ActorPorts::all() const {
  std::vector<ShardHandle> handles;
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    handles.push_back(shard(ShardId(i)));
  return handles;
}

void ActorPorts::clear() {
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    set_shard(ShardId(i), ShardHandle(), nullptr);
  tenants_ = TenantHandle();
}

caf::behavior node_actor(caf::event_based_actor* self, NodeActorOptions options) {
  auto shared = std::make_shared<NodeActorOptions>(std::move(options));
  auto ids = std::make_shared<std::map<caf::actor_addr, ShardId>>();
  const auto spawn_shard = [self, shared, ids](ShardId id, bool rebuild) {
    ShardActorOptions made = shared->shard_options(id);
    made.rebuild = rebuild;
    made.make_policy = shared->make_policy;
    made.gate = std::make_shared<ShardGate>();
    const auto gate = made.gate;
    auto shard = self->spawn(shard_actor, std::move(made));
    self->monitor(shard);
    (*ids)[shard.address()] = id;
    shared->ports->set_shard(id, shard, gate);
  };
  self->set_down_handler([shared, ids, spawn_shard](const caf::down_msg& down) {
    const auto found = ids->find(down.source);
    if (found == ids->end()) return;
    const ShardId id = found->second;
    ids->erase(found);
    shared->ports->close(id);
    shared->on_restart(id);
    shared->log(fmt::format("shard_restarted shard={}", id.value()));
    spawn_shard(id, true);
  });
  for (std::uint32_t i = 0; i < shared->store->shards(); ++i)
    spawn_shard(ShardId(i), false);
  return {[](TickAtom) {},
          [self, shared](const PolicyChangePtr& change) {
            shared->make_policy = change->make_policy;
            for (const ShardHandle& shard : shared->ports->all())
              self->send(shard, change);
          }};
}

}  // namespace larder
