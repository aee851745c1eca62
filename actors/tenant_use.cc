#include "actors/tenant_use.h"

namespace larder {

TenantUse& TenantUses::of(const std::string& tenant) {
  MutexLock lock(&mutex_);
  std::unique_ptr<TenantUse>& use = uses_[tenant];
  if (!use) use = std::make_unique<TenantUse>(tenant);
  return *use;
}

bool SharedPot::take(std::atomic<std::uint64_t>& own, std::uint64_t bytes, const Bounds& bounds) {
  const std::uint64_t all = taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::uint64_t mine = own.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const bool fits = all <= bounds.all && mine <= bounds.own;
  if (fits && (!bounds.tenants || leaves_room(mine, bounds.all - all, bounds.times))) return true;
  give(own, bytes);
  return false;
}

void SharedPot::give(std::atomic<std::uint64_t>& own, std::uint64_t bytes) {
  taken_.fetch_sub(bytes, std::memory_order_relaxed);
  own.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace larder
