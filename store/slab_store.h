#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "store/limits.h"
#include "store/mutex.h"
#include "store/slab.h"
#include "store/slot_ops.h"
#include "store/tenant_budgets.h"
#include "store/types.h"

namespace larder {

/// A slab's files, opened read-only for a client. The receiver closes both.
struct SlabFds {
  int data = -1;
  int headers = -1;
};

/// The slabs of a runtime directory: makes them, finds them, retires them, and opens those of a
/// former run.
///
/// Owns every mapping. find() and the slot accessors are lock-free, for any thread; the rest blocks
/// on files and is for threads that may block (one mutex, below actors/ because a slab is made by
/// whichever detached thread is asked). A Slab lives until release_retired() of its id, or the
/// store's end. Ids only grow, over restarts too.
class SlabStore {
 public:
  /// `tenants`, which outlives the store, knows quotas; null: nobody has one.
  SlabStore(std::string dir, Bytes capacity, const TenantBudgets* tenants = nullptr);
  ~SlabStore();

  struct OpenReport {
    std::uint32_t slabs = 0;
    /// Damaged or truncated, now under a `.bad` name; the next start removes those.
    std::uint32_t slabs_set_aside = 0;
    std::vector<std::string> messages;  ///< one for each of them: file and reason
  };
  /// Maps all slabs of a former run. `tenant_of` numbers a tenant by its name. FAILED_PRECONDITION
  /// naming file and remedy when one is of another format version, RESOURCE_EXHAUSTED when there
  /// are not the descriptors or the memory for one; then nothing has changed.
  absl::StatusOr<OpenReport> open(absl::FunctionRef<TenantId(const std::string&)> tenant_of);

  /// Makes a slab of slots of `slot_bytes` for `tenant`. RESOURCE_EXHAUSTED naming path, need and
  /// what is free. Does not look at may_grow().
  absl::StatusOr<Slab*> create(TenantId tenant, const std::string& tenant_name, Bytes slot_bytes);
  /// Whether a slab more for (tenant, slot_bytes) keeps the slabs within capacity, one slab a
  /// (tenant, slot size) beyond it (capacity / kBeyondShare at most), and the reserve; within
  /// max(); and those of a tenant that has a quota within that, one slab for each other slot size
  /// (half the quota at most) and the reserve. Its slabs `given_up` for this one may always be made
  /// anew, as far as the quota goes.
  bool may_grow(TenantId tenant, Bytes slot_bytes, Bytes given_up = {}) const;
  /// Whether the tenant's slabs take less than its quota: only then may it have slabs of others.
  bool below_quota(TenantId tenant) const;
  /// What slabs may take beyond capacity: one of every pool, capacity / kBeyondShare at most.
  Bytes beyond_capacity() const;
  /// Bytes of slabs beyond capacity and what may_grow() allows besides, or beyond max(): what is to
  /// leave when one of them was lowered.
  Bytes excess() const;
  /// What the file system of the slabs has free for them. Blocks.
  absl::StatusOr<Bytes> free_space() const;
  /// Takes `id`, which has no block left, out of service: raises its generations, gives its memory
  /// back and unlinks its files. find() answers nothing from then on; the mapping stays.
  absl::Status retire(SlabId id);
  /// Unmaps a retired slab: nobody reads it any more (a grace period has passed, and its clients
  /// have unmapped it). Ignores an id that is not retired.
  void release_retired(SlabId id);
  /// NOT_FOUND when there is no such slab in service.
  absl::StatusOr<SlabFds> open_read_only(SlabId id) const;

  Slab* find(SlabId id) const {
    Slab* slab = by_id_[id.value() % limits::kSlabsMax].load(std::memory_order_acquire);
    return slab != nullptr && slab->id() == id ? slab : nullptr;
  }
  /// The slot stands in a slab in service (or retired and not released, for who holds the Slab).
  std::byte* data(const SlotRef& slot) const { return find(slot.slab)->data(slot.slot); }
  SlotHeader* header(const SlotRef& slot) const { return find(slot.slab)->header(slot.slot); }
  Bytes slot_bytes(const SlotRef& slot) const { return find(slot.slab)->slot_bytes(); }

  void begin_reuse(const SlotRef& slot) const { larder::begin_reuse(*header(slot)); }
  void prepare(const SlotRef& slot, const SlotFields& fields) const {
    larder::prepare(*header(slot), fields);
  }
  void seal(const SlotRef& slot, std::uint64_t checksum) const {
    larder::seal(*header(slot), checksum);
  }
  void clear(const SlotRef& slot) const { larder::clear(*header(slot)); }

  /// Slabs in service, by id. Data bytes, without headers and retired ones.
  std::vector<SlabId> slab_ids() const;
  Bytes total_bytes() const { return {total_bytes_.load(std::memory_order_relaxed)}; }
  Bytes retired_bytes() const;

  /// Slots that a slab of such slots gets: capacity / 64 (of a tenant that has a quota, quota / 16
  /// if that is less), whole slots, at most 64 MiB, at least one.
  std::uint32_t slots_per_slab(TenantId tenant, Bytes slot_bytes) const;
  Bytes slab_bytes(TenantId tenant, Bytes slot_bytes) const;
  void set_capacity(Bytes capacity) { capacity_.store(capacity.count, std::memory_order_relaxed); }
  /// Of all slabs' bytes, while memory is short; what may stand beyond capacity counts, too.
  Bytes max() const { return {max_.load(std::memory_order_relaxed)}; }
  void set_max(Bytes max) { max_.store(max.count, std::memory_order_relaxed); }
  const std::string& dir() const { return dir_; }

 private:
  using PoolName = std::pair<TenantId, Bytes>;
  /// Slabs of a (tenant, slot size) in service.
  struct PoolSlabs {
    std::uint32_t count = 0;
    Bytes bytes;
  };
  struct TenantSlabs {
    Bytes bytes;
    Bytes beyond;  ///< what they may take beyond the quota: one slab for each other slot size
  };

  /// A slab of every pool that has one.
  struct OneEach {
    Bytes sum;
    Bytes largest;
  };

  OneEach one_slab_each(const std::optional<PoolName>& but = std::nullopt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Bytes> quota_of(TenantId tenant) const;
  TenantSlabs slabs_of(TenantId tenant, Bytes slot_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool quota_allows(TenantId tenant, Bytes slot_bytes, Bytes given_up) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void put_into_service(std::unique_ptr<Slab> slab) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<SlabId> take_id() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status read_next_id(std::uint32_t seen_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status write_next_id(std::uint32_t next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void set_aside(SlabId id, const absl::Status& why, OpenReport& report);

  const std::string dir_;
  const TenantBudgets* const tenants_;
  std::atomic<std::uint64_t> capacity_;
  std::atomic<std::uint64_t> max_{~0ULL};
  std::atomic<std::uint64_t> total_bytes_{0};
  std::unique_ptr<std::atomic<Slab*>[]> by_id_;
  mutable Mutex mutex_;
  std::map<SlabId, std::unique_ptr<Slab>> slabs_ ABSL_GUARDED_BY(mutex_);
  std::map<SlabId, std::unique_ptr<Slab>> retired_ ABSL_GUARDED_BY(mutex_);
  std::map<PoolName, PoolSlabs> pool_slabs_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::uint32_t written_next_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace larder
