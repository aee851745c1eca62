#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "store/budget.h"
#include "store/index.h"
#include "store/quiescence.h"
#include "store/slab_store.h"
#include "store/slot_pool.h"
#include "store/tenant_budgets.h"
#include "store/types.h"
#include "store/unit_shape.h"

namespace larder {

/// A committed block of a former run, found by scanning headers.
struct AdoptItem {
  SlotRef slot;
  TenantId tenant;
  std::uint32_t position = 0;
};

/// All that a node's shards and io threads share: slabs, free slots, the budgets of the node and of
/// its tenants, the shards' indexes. Outlives every actor.
struct NodeStore {
  struct Options {
    std::string runtime_dir;  ///< exists, ours, locked by the caller
    Bytes capacity;
    std::uint32_t shards = 1;
  };

  /// Opens nothing yet: open() does.
  explicit NodeStore(const Options& options);

  struct OpenReport {
    SlabStore::OpenReport slabs;
    std::uint64_t slots_quarantined = 0;          ///< header damaged: skipped, never reused
    std::vector<std::vector<AdoptItem>> adopted;  ///< for Shard::adopt, by shard, root-first
  };
  /// Maps the slabs of a former run, adds their free slots to the pools and finds their committed
  /// blocks. Before the first shard; blocks (reads every header). Fails as SlabStore::open().
  absl::StatusOr<OpenReport> open(absl::FunctionRef<TenantId(const std::string&)> tenant_of);

  /// Of the node's budget and of the slabs.
  void set_capacity(Bytes capacity);

  // Slot bytes come and go through these two alone, so that the node's ledger and its tenants'
  // cannot drift apart. Any thread; a few atomic additions. `tenant` is one of `tenants`.
  /// Charges the tenant, then the node: each once `fits`, which evicts, says that its ledger has
  /// room for what it wants. False: one has not, and nothing is charged. What a quota has no room
  /// for is never seen in the node's ledger, and so costs nobody else a block.
  bool charge(Budget& tenant, Bytes bytes, absl::FunctionRef<bool(Budget&)> fits) {
    if (!take(tenant, bytes, fits)) return false;
    if (take(budget, bytes, fits)) return true;
    tenant.ledger.refund(bytes);
    return false;
  }
  /// The caller charged `bytes` before.
  void refund(Budget& tenant, Bytes bytes) {
    tenant.ledger.refund(bytes);
    budget.ledger.refund(bytes);
  }

  /// Whether a slab can be had for (tenant, slot_bytes) that costs hardly a block: another pool has
  /// as many free slots as a slab of it. What belongs to other tenants counts only while the
  /// tenant's own slabs are below its quota. Any thread; a mutex a pool.
  bool has_spare_slab(TenantId tenant, Bytes slot_bytes) const {
    return pools.has_spare_slab(tenant, slot_bytes,
                                slabs.below_quota(tenant) ? Whose::kAnybodys : Whose::kOwn);
  }

  /// Namespaces of all blocks there are or that are being written. Any thread; looks at every
  /// entry.
  absl::flat_hash_set<NamespaceId> namespaces_in_use() const;

  std::uint32_t shards() const { return static_cast<std::uint32_t>(indexes.size()); }

  QuiescenceDomain domain;
  Budget budget;          ///< the capacity of the node
  TenantBudgets tenants;  ///< which part of it each tenant uses, and may
  SlabStore slabs;
  SlotPools pools;
  UnitShapes unit_shapes;
  std::vector<std::unique_ptr<Index>> indexes;
  /// Request end sequence: the high part of every Stamp.
  std::atomic<std::uint64_t> sequence{1};

 private:
  static bool take(Budget& of, Bytes bytes, absl::FunctionRef<bool(Budget&)> fits) {
    of.ledger.want(bytes);
    const bool has_room = fits(of);
    if (has_room) of.ledger.charge(bytes);
    of.ledger.unwant(bytes);
    return has_room;
  }
  void scan(Slab& slab, OpenReport& report);
};

}  // namespace larder
