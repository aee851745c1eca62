#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "store/budget.h"
#include "store/mutex.h"
#include "store/types.h"

namespace larder {

/// What each tenant's blocks take of host memory, and its quota, if it has one. Every tenant is
/// counted, so that a quota that comes later finds its ledger right.
///
/// Owns the budgets: one is made when its tenant is first asked for, and stays where it is for the
/// node's lifetime. Any thread. A look is two loads; the first one of a tenant takes a mutex and
/// allocates (about 200 bytes and 8 a shard).
class TenantBudgets {
 public:
  /// Tenants' numbers are below this: entries of the index keep 24 bits of them.
  static constexpr std::uint32_t kTenantsMax = 1U << 24;

  explicit TenantBudgets(std::uint32_t shards);
  TenantBudgets(const TenantBudgets&) = delete;
  TenantBudgets& operator=(const TenantBudgets&) = delete;
  ~TenantBudgets();

  /// `tenant` is below kTenantsMax.
  Budget& of(TenantId tenant) {
    Budget* found = find(tenant);
    return found != nullptr ? *found : make(tenant);
  }
  /// Slot bytes of its blocks.
  Bytes used(TenantId tenant) const;
  /// Nothing: it has no quota.
  std::optional<Bytes> quota(TenantId tenant) const;
  /// In force at once: a lower one is met as shards find the ledger over. Nothing: no limit.
  void set_quota(TenantId tenant, std::optional<Bytes> quota);
  /// Takes back what an actor of `shard` published, which is gone: another follows it.
  void withdraw(ShardId shard);

 private:
  static constexpr std::uint32_t kLeaf = 1'024;
  using Leaf = std::array<std::atomic<Budget*>, kLeaf>;

  Budget* find(TenantId tenant) const {
    if (tenant.value() >= kTenantsMax) return nullptr;
    const Leaf* leaf = leaves_[tenant.value() / kLeaf].load(std::memory_order_acquire);
    if (leaf == nullptr) return nullptr;
    return (*leaf)[tenant.value() % kLeaf].load(std::memory_order_acquire);
  }
  Budget& make(TenantId tenant);

  const std::uint32_t shards_;
  std::vector<std::atomic<Leaf*>> leaves_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Leaf>> owned_leaves_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Budget>> owned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
