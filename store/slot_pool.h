#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

#include "store/mutex.h"
#include "store/slab.h"
#include "store/types.h"

namespace larder {

/// Slabs of whom: of the asking tenant, or of all.
enum class Whose : std::uint8_t { kOwn, kAnybodys };

/// The free slots of every (tenant, slot size), last in first out: a slot just freed is warm.
///
/// Owns numbers only, no memory. Any thread. A mutex a pool, held for a few moves: shards meet here
/// once a block, and a lock-free stack would not give up one slab's slots.
///
/// A slab that is to leave is closed: its free slots, and those freed later, are held back until
/// either all of them are there (remove_closed_slab) or it is opened again.
class SlotPools {
 public:
  SlotPools() = default;
  SlotPools(const SlotPools&) = delete;
  SlotPools& operator=(const SlotPools&) = delete;

  /// Adds a slab; of its slots those are free for which `is_free` is true, or all.
  void add_slab(const Slab& slab);
  void add_slab(const Slab& slab, absl::FunctionRef<bool(std::uint32_t)> is_free);

  /// False when the pool has none.
  bool take(TenantId tenant, Bytes slot_bytes, SlotRef* out);
  /// Fills the front of `out`; returns how many it got.
  std::uint32_t take_many(TenantId tenant, Bytes slot_bytes, std::span<SlotRef> out);
  /// The slot is its pool's again. Its slab was added and not removed.
  void give(const SlotRef& slot);
  /// The slot is never handed out again; its slab can still leave.
  void forget(const SlotRef& slot);

  void close_slab(SlabId id);
  void reopen_slab(SlabId id);
  /// True when all slots of the closed slab are free: it is out of the pools. Else changes nothing.
  bool remove_closed_slab(SlabId id);
  struct SlabUse {
    SlabId id;
    double busy = 0;  ///< share of its slots in use
    TenantId tenant;
  };
  /// Open slabs of other pools, the emptier first.
  std::vector<SlabUse> slabs_of_others(TenantId tenant, Bytes slot_bytes) const;
  std::vector<SlabUse> all_slabs() const;

  /// Whether another pool, `whose`, has as many free slots as a slab of it: emptying one costs it
  /// little.
  bool has_spare_slab(TenantId tenant, Bytes slot_bytes, Whose whose = Whose::kAnybodys) const;

  std::uint32_t free_count(TenantId tenant, Bytes slot_bytes) const;
  /// Slots of the pool, free or not.
  std::uint64_t total(TenantId tenant, Bytes slot_bytes) const;

  struct Usage {
    TenantId tenant;
    Bytes slot_bytes;
    std::uint64_t slots = 0;
    std::uint64_t free = 0;
  };
  /// Every pool, for metrics and the console.
  std::vector<Usage> usage() const;

 private:
  using Name = std::pair<TenantId, Bytes>;
  struct Share {
    std::uint32_t slots = 0;
    std::uint32_t free = 0;
    bool closed = false;
    std::vector<SlotRef> held;  ///< free slots while closed
  };
  struct Pool {
    explicit Pool(Name pool_name) : name(pool_name) {}
    const Name name;
    mutable Mutex mutex;
    std::deque<SlotRef> free ABSL_GUARDED_BY(mutex);  // millions: grows without being moved
    absl::flat_hash_map<SlabId, Share> shares ABSL_GUARDED_BY(mutex);
  };

  Pool* find(const Name& name) const;
  Pool* pool_of(SlabId id) const;

  /// Guards the two maps, not the pools in them (which live as long as this).
  mutable Mutex mutex_;
  std::map<Name, std::unique_ptr<Pool>> pools_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<SlabId, Pool*> by_slab_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
