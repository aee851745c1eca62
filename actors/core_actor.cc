#include <algorithm>
#include <thread>
#include <utility>

#include <caf/all.hpp>

#include "actors/actor_core.h"
#include "actors/clock.h"
#include "actors/node_actor.h"

namespace larder {

namespace {

/// As measured (ARCHITECTURE.md, "Actors"): sharing wakes faster and idles at nothing; a bound on
/// messages a turn keeps shards fair to each other.
struct SystemConfig : caf::actor_system_config {
  explicit SystemConfig(std::uint32_t shards) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::clamp<std::size_t>(shards, 1, cores));
    set("scheduler.max-throughput", std::size_t{64});
    set("logger.verbosity", caf::atom("quiet"));
  }
};

}  // namespace

struct ActorCore::Impl {
  explicit Impl(Options from)
      : options(std::move(from)),
        ports(options.store->shards()),
        config(options.store->shards()),
        system(config) {}

  ShardActorOptions shard_options(ShardId id) {
    ShardActorOptions made;
    made.id = id;
    made.store = options.store;
    made.counters = (*options.counters)[id.value()].get();
    made.slabs = slabs;
    made.now = now;
    made.wall_ns = wall_ns;
    made.poke = [this](ShardId other) { caf::anon_send(ports.shard(other), EvictOverAtom::value); };
    if (id.value() < options.adopted.size()) {
      made.adopt =
          std::make_shared<const std::vector<AdoptItem>>(std::move(options.adopted[id.value()]));
      options.adopted[id.value()].clear();
    }
    return made;
  }

  Options options;
  ActorPorts ports;  ///< outlives the system: actors that end ask it for shards
  SystemConfig config;
  caf::actor_system system;
  caf::actor slabs;
  caf::actor node;
  TenantHandle tenants;
};

ActorCore::ActorCore(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {
  Impl& impl = *impl_;
  SlabActorOptions slab_options;
  slab_options.store = impl.options.store;
  slab_options.shards = [&impl] { return impl.ports.all(); };
  slab_options.tenant_name = [names = impl.options.namespaces->directory()](TenantId id) {
    return names->tenant_name(id);
  };
  slab_options.announce_retired = impl.options.announce_retired;
  slab_options.now = now;
  slab_options.log = impl.options.log;
  slab_options.metrics = impl.options.metrics;
  slab_options.wanted_capacity = impl.options.wanted_capacity;
  slab_options.probe = impl.options.probe;
  impl.slabs = impl.system.spawn<caf::detached>(slab_actor, std::move(slab_options));
  impl.tenants = impl.system.spawn<caf::detached>(tenant_actor, impl.options.namespaces);
  impl.ports.set_tenants(impl.tenants);

  NodeActorOptions node_options;
  node_options.store = impl.options.store;
  node_options.ports = &impl.ports;
  node_options.make_policy = impl.options.make_policy;
  node_options.shard_options = [&impl](ShardId id) { return impl.shard_options(id); };
  node_options.log = impl.options.log;
  node_options.on_restart = [&impl](ShardId id) {
    (*impl.options.counters)[id.value()]->restart();
    impl.options.on_restart();
  };
  impl.node = impl.system.spawn(node_actor, std::move(node_options));

  caf::scoped_actor self(impl.system);
  self->request(impl.node, caf::infinite, TickAtom::value).receive([] {}, [](caf::error&) {});
  for (const ShardHandle& shard : impl.ports.all()) {
    self->request(shard, caf::infinite, SettleAtom::value).receive([](bool) {}, [](caf::error&) {});
  }
}

ActorCore::~ActorCore() {
  // The supervisor first: a shard that ends afterwards stays ended.
  for (const caf::actor& actor : {impl_->node, impl_->slabs}) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(impl_->tenants, caf::exit_reason::user_shutdown);
  {
    caf::scoped_actor self(impl_->system);
    self->wait_for(impl_->node);
  }
  for (const ShardHandle& shard : impl_->ports.all()) {
    caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
  }
  impl_->ports.clear();
  impl_->node = nullptr;
  impl_->slabs = nullptr;
  impl_->tenants = TenantHandle();
}

ShardPort& ActorCore::shards() {
  return impl_->ports;
}
TenantPort& ActorCore::tenants() {
  return impl_->ports;
}

void ActorCore::change_policy(PolicyChange change) {
  caf::anon_send(impl_->node, PolicyChangePtr(std::make_shared<PolicyChange>(std::move(change))));
}

void ActorCore::kill_shard(ShardId id) {
  caf::anon_send_exit(impl_->ports.shard(id), caf::exit_reason::kill);
}

}  // namespace larder
