#include "tests/session/desk_shards.h"

#include <chrono>

#include "actors/clock.h"
#include "actors/shard_work.h"
#include "store/assert.h"
#include "store/checksum.h"

namespace larder::sim {

namespace {
constexpr auto kTick = std::chrono::milliseconds(5);
constexpr std::uint32_t kRebuildStep = 256;
}  // namespace

DeskShards::DeskShards(NodeStore& store, std::shared_ptr<NamespaceTable> namespaces, Clock now,
                       Retired announce_retired)
    : store_(store), namespaces_(std::move(namespaces)), now_(std::move(now)) {
  for (std::uint32_t i = 0; i < store.shards(); ++i) {
    desks_.push_back(make_desk(ShardId(i)));
    gates_.push_back(std::make_unique<ShardGate>());
    gates_[i]->open(desks_[i].get());
  }
  for (std::size_t i = 0; i < desks_.size() + 2; ++i)
    queues_.push_back(std::make_unique<Queue>());
  SlabDesk::Hooks hooks;
  hooks.settle = [this] {
    for (std::uint32_t i = 0; i < store_.shards(); ++i) {
      ask(ShardId(i), [this](ShardDesk& desk) { desk.evict_over(now_()); });
    }
  };
  hooks.evict_pool = [this](ShardId id, const PoolName& pool, std::uint32_t count) {
    std::uint32_t evicted = 0;
    ask(id, [&](ShardDesk& desk) {
      evicted = desk.shard().evict_from_pool(pool.tenant, pool.slot_bytes, count, now_());
    });
    return evicted;
  };
  hooks.cheapest_slabs = [this](const PoolName& pool) {
    std::vector<SlabVictim> victims;
    for (std::uint32_t i = 0; i < store_.shards(); ++i) {
      ask(ShardId(i), [&](ShardDesk& desk) {
        const auto one = desk.shard().cheapest_slab(pool.tenant, pool.slot_bytes, now_());
        if (one) victims.push_back(*one);
      });
    }
    return victims;
  };
  hooks.evict_slab = [this](SlabId slab) {
    for (std::uint32_t i = 0; i < store_.shards(); ++i) {
      ask(ShardId(i), [slab](ShardDesk& desk) {
        std::uint32_t cursor = 0;
        desk.shard().evict_slab(slab, &cursor, 0xffffffff);
      });
    }
  };
  hooks.tenant_name = [names = namespaces_->directory()](TenantId id) {
    return names->tenant_name(id);
  };
  hooks.announce_retired = std::move(announce_retired);
  hooks.log = [](const std::string&) {};
  slabs_ = std::make_unique<SlabDesk>(store_, std::move(hooks));
}

DeskShards::~DeskShards() {
  stop();
}

std::unique_ptr<ShardDesk> DeskShards::make_desk(ShardId id) {
  ShardDesk::Hooks hooks;
  hooks.need_slots = [this, id](const PoolName& pool, std::uint32_t count) {
    post(slabs_queue(), [this, pool, id, count] { provide(pool, id, count); });
  };
  hooks.poke = [this](ShardId other) {
    post_shard(other, [this](ShardDesk& desk) { desk.evict_over(now_()); });
  };
  const std::lock_guard lock(policy_mutex_);
  return std::make_unique<ShardDesk>(std::make_unique<Shard>(id, store_, make_policy_),
                                     std::move(hooks));
}

void DeskShards::provide(const PoolName& pool, ShardId asker, std::uint32_t count) {
  const bool found = slabs_->provide(pool, count, now_());
  post_shard(asker, [this, pool, found](ShardDesk& desk) { desk.refilled(pool, found, now_()); });
}

// -- queues and threads --------------------------------------------------------------------------

void DeskShards::post(std::size_t queue, Task task) {
  Queue& to = *queues_[queue];
  {
    const std::lock_guard lock(to.mutex);
    to.tasks.push_back(std::move(task));
  }
  to.filled.notify_one();
}

void DeskShards::post_shard(ShardId id, std::function<void(ShardDesk&)> fn) {
  post(id.value(), at_desk(id, std::move(fn)));
}

DeskShards::Task DeskShards::at_desk(ShardId id, std::function<void(ShardDesk&)> fn) {
  return [this, id, fn = std::move(fn)] { gate(id)->at_desk([&] { fn(*desks_[id.value()]); }); };
}

std::shared_ptr<ShardGate> DeskShards::gate(ShardId id) {
  const std::lock_guard lock(queues_[id.value()]->mutex);
  return gates_[id.value()];
}

void DeskShards::ask(ShardId id, const std::function<void(ShardDesk&)>& fn) {
  if (!threaded_) return fn(*desks_[id.value()]);
  struct Answer {
    std::mutex mutex;
    std::condition_variable came;
    bool done = false;
  };
  /// Answers when it goes: a shard that dies answers too.
  struct Promise {
    explicit Promise(std::shared_ptr<Answer> to) : answer(std::move(to)) {}
    ~Promise() {
      const std::lock_guard lock(answer->mutex);
      answer->done = true;
      answer->came.notify_one();
    }
    std::shared_ptr<Answer> answer;
  };
  const auto answer = std::make_shared<Answer>();
  post_shard(id, [fn, promise = std::make_shared<Promise>(answer)](ShardDesk& desk) { fn(desk); });
  std::unique_lock lock(answer->mutex);
  answer->came.wait(lock, [&] { return answer->done; });
}

void DeskShards::start() {
  LARDER_ASSERT(!threaded_);
  threaded_ = true;
  for (std::size_t i = 0; i < queues_.size(); ++i)
    queues_[i]->thread = std::thread([this, i] { run_queue(i); });
}

void DeskShards::stop() {
  if (!threaded_) return;
  // The slab keeper and the tenants first: the former waits for shards.
  for (std::size_t i = queues_.size(); i-- > 0;) {
    Queue& queue = *queues_[i];
    {
      const std::lock_guard lock(queue.mutex);
      queue.stop = true;
    }
    queue.filled.notify_one();
    queue.thread.join();
    queue.stop = false;
  }
  threaded_ = false;
}

void DeskShards::run_queue(std::size_t number) {
  Queue& queue = *queues_[number];
  auto next_tick = std::chrono::steady_clock::now() + kTick;
  std::unique_lock lock(queue.mutex);
  for (;;) {
    queue.filled.wait_until(lock, next_tick, [&] { return queue.stop || !queue.tasks.empty(); });
    if (queue.stop && queue.tasks.empty()) return;
    Task task;
    if (!queue.tasks.empty()) {
      task = std::move(queue.tasks.front());
      queue.tasks.pop_front();
    }
    lock.unlock();
    if (task) task();
    task = nullptr;
    if (const auto now = std::chrono::steady_clock::now(); now >= next_tick) {
      tick(number);
      next_tick = now + kTick;
    }
    lock.lock();
  }
}

void DeskShards::tick(std::size_t shard) {
  if (shard >= desks_.size()) return;
  gate(ShardId(static_cast<std::uint32_t>(shard)))->at_desk([&] {
    desks_[shard]->tick(now_(), wall_ns());
  });
}

void DeskShards::tick_all() {
  for (std::size_t i = 0; i < desks_.size(); ++i)
    tick(i);
}

bool DeskShards::run_one(std::size_t number) {
  Queue& queue = *queues_[number];
  if (queue.tasks.empty()) return false;
  const Task task = std::move(queue.tasks.front());
  queue.tasks.pop_front();
  task();
  return true;
}

void DeskShards::run_all() {
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < queues_.size(); ++i)
      any = run_one(i) || any;
  }
}

void DeskShards::change_policy(const PolicyChange& change) {
  {
    const std::lock_guard lock(policy_mutex_);
    make_policy_ = change.make_policy;
  }
  for (std::size_t n = 0; n < desks_.size(); ++n) {
    post(n, [this, n, change] {
      const std::shared_ptr<ShardGate> at = gate(ShardId(static_cast<std::uint32_t>(n)));
      at->close();
      Shard& shard = desks_[n]->shard();
      const auto old = shard.change_policy(change);
      while (shard.rebuild_some(kRebuildStep)) {
      }
      at->open(desks_[n].get());
    });
  }
}

void DeskShards::kill_shard(ShardId id, const AroundStep& around) {
  const auto replace = [this, id, around] {
    const std::size_t n = id.value();
    std::deque<Task> lost;
    std::shared_ptr<ShardGate> gate = std::make_shared<ShardGate>();
    {
      const std::lock_guard lock(queues_[n]->mutex);
      lost.swap(queues_[n]->tasks);
      gate.swap(gates_[n]);
    }
    gate->close();
    desks_[n] = nullptr;
    lost.clear();
    desks_[n] = make_desk(id);
    for (bool more = true; more;)
      around([&] { more = desks_[n]->shard().rebuild_some(kRebuildStep); });
    gates_[n]->open(desks_[n].get());
  };
  if (threaded_) {
    post(id.value(), replace);
  } else {
    replace();
  }
}

// -- the ports -----------------------------------------------------------------------------------

/// As ActorPorts does; but on the caller's thread, everything waits until it is told to run.
template <class Message>
void DeskShards::pass(ShardId to, Message message) {
  if (threaded_ && carry_out_here(*gate(to), message, now_())) return;
  enqueue(to, [this, message](ShardDesk& desk) { carry_out(desk, message, now_()); });
}

void DeskShards::enqueue(ShardId to, std::function<void(ShardDesk&)> work) {
  Queue& queue = *queues_[to.value()];
  {
    const std::lock_guard lock(queue.mutex);
    const std::shared_ptr<ShardGate> counted = gates_[to.value()];
    counted->sent();
    queue.tasks.push_back(at_desk(to, [counted, work = std::move(work)](ShardDesk& desk) {
      work(desk);
      counted->handled();
    }));
  }
  queue.filled.notify_one();
}

void DeskShards::send(ShardId to, std::shared_ptr<ReserveCall> call) {
  pass(to, std::move(call));
}
void DeskShards::send(ShardId to, std::shared_ptr<ClaimCall> call) {
  pass(to, std::move(call));
}
void DeskShards::send(ShardId to, std::shared_ptr<EraseCall> call) {
  pass(to, std::move(call));
}
void DeskShards::send(ShardId to, std::shared_ptr<ScanCall> call) {
  pass(to, std::move(call));
}
void DeskShards::send(ShardId to, std::shared_ptr<const RequestNote> note) {
  pass(to, std::move(note));
}
void DeskShards::send(ShardId to, std::shared_ptr<const RequestEndNote> note) {
  pass(to, std::move(note));
}
void DeskShards::send(ShardId to, std::shared_ptr<const TouchNote> note) {
  pass(to, std::move(note));
}
void DeskShards::send(ShardId to, std::shared_ptr<const AbortNote> note) {
  pass(to, std::move(note));
}
void DeskShards::send(ShardId to, std::shared_ptr<const DropClaimsNote> note) {
  enqueue(to, [note](ShardDesk& desk) {
    while (!drop_claims(desk, *note)) {
    }
  });
}
void DeskShards::send(ShardId to, std::shared_ptr<const QuarantineNote> note) {
  pass(to, std::move(note));
}
void DeskShards::send(std::shared_ptr<OpenNamespaceCall> call) {
  post(tenants_queue(), [this, call = std::move(call)] {
    call->result = namespaces_->open(call->tenant, call->spec, now_());
    call->answer();
  });
}
void DeskShards::send(std::shared_ptr<SetModeCall> call) {
  post(tenants_queue(), [this, call = std::move(call)] { call->carry_out(*namespaces_); });
}

Held held_in(const NodeStore& store) {
  Held held;
  for (const auto& index : store.indexes) {
    for (std::uint32_t i = 0; i < index->entry_limit(); ++i) {
      const EntryWord word = EntryWord::unpack(index->entry(EntryId(i)).word.load());
      held.leases += word.leases;
      if (word.state == EntryState::kFilling) held.filling += 1;
      if (word.state == EntryState::kClaimed) held.claimed += 1;
      if (word.state == EntryState::kRemoved) held.removed += 1;
    }
  }
  return held;
}

Bytes whole_bytes(const NodeStore& store) {
  Bytes sum;
  for (const auto& index : store.indexes) {
    for (std::uint32_t i = 0; i < index->entry_limit(); ++i) {
      const Entry& entry = index->entry(EntryId(i));
      if (EntryWord::unpack(entry.word.load()).state != EntryState::kCommitted) continue;
      const SlotRef slot = unpack_slot(entry.slot.load());
      LARDER_ASSERT(checksum({store.slabs.data(slot), length_of(entry)}) ==
                    store.slabs.header(slot)->checksum);
      sum = sum + store.slabs.slot_bytes(slot);
    }
  }
  return sum;
}

}  // namespace larder::sim
