#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "actors/shard_calls.h"
#include "store/shard.h"

namespace larder {

/// The free slots of one (tenant, slot size).
struct PoolName {
  TenantId tenant;
  Bytes slot_bytes;
  friend auto operator<=>(const PoolName&, const PoolName&) = default;
};

/// The work of a shard actor, free of CAF: runs calls on the Shard and parks the reservations that
/// wait for a slot.
///
///   reserve --every item answered--> answered
///      |-----a pool is empty-------> parked --refilled, or nothing could be freed: next tick-->
///                                      |     tried again
///                                      |-----deadline, or nothing kRefusalsMax times--> answered
///                                      (kNoSlot)
///
/// What is held for the moment (filling, being read) may be free a tick later, so one refusal is no
/// answer yet.
class ShardDesk {
 public:
  static constexpr std::uint32_t kRefusalsMax = 5;

  struct Hooks {
    /// Asks the slab actor for `count` slots; answered by refilled(), once.
    std::function<void(const PoolName&, std::uint32_t count)> need_slots;
    std::function<void(ShardId)> poke;  ///< that shard should evict
  };

  /// `shard` is owned.
  ShardDesk(std::unique_ptr<Shard> shard, Hooks hooks);
  /// Answers what is parked: nothing waits for a dead shard.
  ~ShardDesk();

  void reserve(std::shared_ptr<ReserveCall> call, Time now);
  void refilled(const PoolName& pool, bool success, Time now);
  /// True when something happened since the last one, or waits for the next.
  bool tick(Time now, std::int64_t wall_ns);
  void evict_over(Time now);
  Shard& shard() { return *shard_; }
  std::size_t parked() const { return parked_.size(); }

 private:
  bool attempt(ReserveCall& call, Time now);
  void retry_refused(Time now);

  std::unique_ptr<Shard> shard_;
  Hooks hooks_;
  std::vector<std::shared_ptr<ReserveCall>> parked_;
  bool refused_ = false;      ///< some of parked_ were
  std::set<PoolName> asked_;  ///< asked for slots and not answered yet
  Shard::Counters seen_;      ///< at the last tick
};

}  // namespace larder
