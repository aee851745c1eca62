// The shards, the slab keeper and the tenant registry of a node without CAF: the desks that the
// actors run, behind plain queues.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "actors/shard_desk.h"
#include "actors/shard_gate.h"
#include "actors/slab_desk.h"
#include "actors/tenant_port.h"
#include "policies/make_policy.h"
#include "store/node_store.h"

namespace larder::sim {

/// Runs in one of two ways: with a thread a queue (start(), stop()), or on the caller's thread, a
/// message when told to (run_one(), run_all()): then the caller chooses the order.
///
/// Owns the shards; `store` outlives it. As in the daemon, what a shard that dies had in its queue
/// is lost.
class DeskShards : public ShardPort, public TenantPort {
 public:
  using Clock = std::function<Time()>;
  using Retired = std::function<void(SlabId)>;

  DeskShards(NodeStore& store, std::shared_ptr<NamespaceTable> namespaces, Clock now,
             Retired announce_retired);
  ~DeskShards() override;

  void start();
  void stop();
  /// Of the caller's thread. Queues are numbered: shards, then slabs, then tenants. False: empty.
  bool run_one(std::size_t queue);
  void run_all();
  std::size_t queues() const { return queues_.size(); }
  void tick_all();
  using AroundStep = std::function<void(const std::function<void()>& step)>;
  /// Ends a shard's desk as a fault would, and makes another on the same index, in steps that
  /// `around` calls.
  void kill_shard(
      ShardId id, const AroundStep& around = [](const auto& step) { step(); });
  /// As the shards' actors do it: what comes meanwhile waits. A desk made later has the new policy.
  void change_policy(const PolicyChange& change);
  /// Calls `fn` with the shard on its thread, and waits for it.
  void ask(ShardId id, const std::function<void(ShardDesk&)>& fn);

  void send(ShardId to, std::shared_ptr<ReserveCall> call) override;
  void send(ShardId to, std::shared_ptr<ClaimCall> call) override;
  void send(ShardId to, std::shared_ptr<EraseCall> call) override;
  void send(ShardId to, std::shared_ptr<ScanCall> call) override;
  void send(ShardId to, std::shared_ptr<const RequestNote> note) override;
  void send(ShardId to, std::shared_ptr<const RequestEndNote> note) override;
  void send(ShardId to, std::shared_ptr<const TouchNote> note) override;
  void send(ShardId to, std::shared_ptr<const AbortNote> note) override;
  void send(ShardId to, std::shared_ptr<const DropClaimsNote> note) override;
  void send(ShardId to, std::shared_ptr<const QuarantineNote> note) override;
  void send(std::shared_ptr<OpenNamespaceCall> call) override;
  void send(std::shared_ptr<SetModeCall> call) override;

 private:
  using Task = std::function<void()>;
  struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Task> tasks;
    bool stop = false;
    std::thread thread;
  };

  std::unique_ptr<ShardDesk> make_desk(ShardId id);
  void post(std::size_t queue, Task task);
  template <class Message>
  void pass(ShardId to, Message message);
  void enqueue(ShardId to, std::function<void(ShardDesk&)> work);
  std::shared_ptr<ShardGate> gate(ShardId id);
  Task at_desk(ShardId id, std::function<void(ShardDesk&)> fn);
  void post_shard(ShardId id, std::function<void(ShardDesk&)> fn);
  void run_queue(std::size_t queue);
  void tick(std::size_t shard);
  void provide(const PoolName& pool, ShardId asker, std::uint32_t count);
  std::size_t slabs_queue() const { return desks_.size(); }
  std::size_t tenants_queue() const { return desks_.size() + 1; }

  NodeStore& store_;
  std::shared_ptr<NamespaceTable> namespaces_;
  Clock now_;
  std::unique_ptr<SlabDesk> slabs_;
  std::vector<std::unique_ptr<ShardDesk>> desks_;  ///< each its queue's thread's, or its gate's
  std::vector<std::shared_ptr<ShardGate>> gates_;  ///< each under its queue's mutex
  std::vector<std::unique_ptr<Queue>> queues_;
  std::mutex policy_mutex_;
  PolicyFactory make_policy_ = *policy_factory("lru");  ///< under it
  bool threaded_ = false;
};

/// What is still held in a store: all zero once every session has ended and the queues are empty.
struct Held {
  std::uint64_t leases = 0;
  std::uint64_t filling = 0;
  std::uint64_t claimed = 0;
  std::uint64_t removed = 0;
  friend bool operator==(const Held&, const Held&) = default;
};
Held held_in(const NodeStore& store);

/// Slot bytes of all committed blocks. Asserts that each has the bytes that its checksum is of.
Bytes whole_bytes(const NodeStore& store);

}  // namespace larder::sim
