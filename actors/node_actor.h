#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <caf/all.hpp>

#include "actors/clock.h"
#include "actors/shard_actor.h"
#include "actors/shard_gate.h"
#include "actors/shard_work.h"
#include "actors/slab_actor.h"
#include "actors/tenant_actor.h"

namespace larder {

/// The actors' handles, for whoever sends from another thread: both ports of the io threads. A
/// restarted shard replaces its handle; what the old one had in its mailbox is answered as lost.
/// What is short is worked off by the sender, through the shard's gate, when it can be.
///
/// Thread-safe; a mutex a shard, held for a copy of two pointers.
class ActorPorts : public ShardPort, public TenantPort {
 public:
  explicit ActorPorts(std::uint32_t shards) : slots_(shards) {}

  /// From here on nobody comes to the desk of `id`'s actor any more: it has died.
  void close(ShardId id);
  /// `gate` is that of the actor's desk.
  void set_shard(ShardId id, ShardHandle handle, std::shared_ptr<ShardGate> gate);
  ShardHandle shard(ShardId id) const;
  std::vector<ShardHandle> all() const;
  void set_tenants(TenantHandle handle) { tenants_ = std::move(handle); }
  /// Lets go of every actor, so that the system can end.
  void clear();

  void send(ShardId to, std::shared_ptr<ReserveCall> call) override { post(to, std::move(call)); }
  void send(ShardId to, std::shared_ptr<ClaimCall> call) override { post(to, std::move(call)); }
  void send(ShardId to, std::shared_ptr<EraseCall> call) override { post(to, std::move(call)); }
  void send(ShardId to, std::shared_ptr<ScanCall> call) override { post(to, std::move(call)); }
  void send(ShardId to, RequestNotePtr note) override { post(to, std::move(note)); }
  void send(ShardId to, RequestEndNotePtr note) override { post(to, std::move(note)); }
  void send(ShardId to, TouchNotePtr note) override { post(to, std::move(note)); }
  void send(ShardId to, AbortNotePtr note) override { post(to, std::move(note)); }
  void send(ShardId to, DropClaimsNotePtr note) override { post(to, std::move(note)); }
  void send(ShardId to, QuarantineNotePtr note) override { post(to, std::move(note)); }
  void send(std::shared_ptr<OpenNamespaceCall> call) override {
    caf::anon_send(tenants_, std::move(call));
  }
  void send(std::shared_ptr<SetModeCall> call) override {
    caf::anon_send(tenants_, std::move(call));
  }

 private:
  struct Way {
    ShardHandle handle;
    std::shared_ptr<ShardGate> gate;
  };
  struct Slot {
    mutable absl::Mutex mutex;
    Way way ABSL_GUARDED_BY(mutex);
  };
  Way way(ShardId id) const;
  template <class Message>
  void post(ShardId to, Message message) {
    const Way to_shard = way(to);
    if (!to_shard.handle) return;  // shutting down; a call that dies is answered as lost
    if (carry_out_here(*to_shard.gate, message, now())) return;
    enqueue(to_shard, std::move(message));
  }
  /// Never short.
  void post(ShardId to, DropClaimsNotePtr note) {
    if (const Way to_shard = way(to); to_shard.handle) enqueue(to_shard, std::move(note));
  }
  template <class Message>
  static void enqueue(const Way& to, Message message) {
    to.gate->sent();
    caf::anon_send(to.handle, std::move(message));
  }

  std::vector<Slot> slots_;
  TenantHandle tenants_;
};

struct NodeActorOptions {
  NodeStore* store = nullptr;
  ActorPorts* ports = nullptr;
  PolicyFactory make_policy;
  std::function<ShardActorOptions(ShardId)> shard_options;
  std::function<void(const std::string&)> log;
  std::function<void(ShardId)> on_restart;
};

/// Supervises the shards: one that dies is made again on its old index, and has lost nothing
/// committed. PolicyChangePtr: shards change their policies, and those made later have the new one.
caf::behavior node_actor(caf::event_based_actor* self, NodeActorOptions options);

}  // namespace larder
