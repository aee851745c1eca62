#include "store/tenant_budgets.h"

#include "store/assert.h"

namespace larder {

TenantBudgets::TenantBudgets(std::uint32_t shards)
    : shards_(shards), leaves_(kTenantsMax / kLeaf) {}

TenantBudgets::~TenantBudgets() = default;

Budget& TenantBudgets::make(TenantId tenant) {
  LARDER_ASSERT(tenant.value() < kTenantsMax);
  MutexLock lock(&mutex_);
  if (Budget* found = find(tenant); found != nullptr) return *found;
  std::atomic<Leaf*>& place = leaves_[tenant.value() / kLeaf];
  Leaf* leaf = place.load(std::memory_order_relaxed);
  if (leaf == nullptr) {
    leaf = owned_leaves_.emplace_back(std::make_unique<Leaf>()).get();
    place.store(leaf, std::memory_order_release);
  }
  Budget& made = *owned_.emplace_back(std::make_unique<Budget>(Ledger::kUnlimited, shards_));
  (*leaf)[tenant.value() % kLeaf].store(&made, std::memory_order_release);
  return made;
}

Bytes TenantBudgets::used(TenantId tenant) const {
  const Budget* budget = find(tenant);
  return budget == nullptr ? Bytes{0} : budget->ledger.used();
}

std::optional<Bytes> TenantBudgets::quota(TenantId tenant) const {
  const Budget* budget = find(tenant);
  if (budget == nullptr || budget->ledger.capacity() == Ledger::kUnlimited) return std::nullopt;
  return budget->ledger.capacity();
}

void TenantBudgets::set_quota(TenantId tenant, std::optional<Bytes> quota) {
  of(tenant).ledger.set_capacity(quota.value_or(Ledger::kUnlimited));
}

void TenantBudgets::withdraw(ShardId shard) {
  MutexLock lock(&mutex_);
  for (const auto& budget : owned_)
    budget->withdraw(shard);
}

}  // namespace larder
