#include "actors/tenant_use.h"

#include <algorithm>

#include <fmt/format.h>

namespace larder {

TenantUse& TenantUses::of(const std::string& tenant) {
  MutexLock lock(&mutex_);
  std::unique_ptr<TenantUse>& use = uses_[tenant];
  if (!use) use = std::make_unique<TenantUse>(tenant);
  return *use;
}

std::vector<const TenantUse*> TenantUses::all() const {
  std::vector<const TenantUse*> out;
  {
    MutexLock lock(&mutex_);
    for (const auto& [name, use] : uses_)
      out.push_back(use.get());
  }
  std::sort(out.begin(), out.end(),
            [](const TenantUse* a, const TenantUse* b) { return a->name < b->name; });
  return out;
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

bool Commons::take(TenantUse& tenant, Common what, std::uint64_t count,
                   const SharedPot::Bounds& bounds) {
  const std::size_t at = index_of(what);
  return pots_[at].take(tenant.common[at], count, bounds);
}

std::string Commons::why_not(const TenantUse& tenant, Common what,
                             const SharedPot::Bounds& bounds) const {
  const std::size_t at = index_of(what);
  const std::string all = fmt::format("all sessions of this daemon have {}, the limit is {}",
                                      pots_[at].taken(), bounds.all);
  if (!bounds.tenants) return all;
  return fmt::format("{}; tenant \"{}\" has {}, and may have {} times what is left", all,
                     tenant.name, tenant.common[at].load(), bounds.times);
}

void Commons::give(TenantUse& tenant, Common what, std::uint64_t count) {
  const std::size_t at = index_of(what);
  pots_[at].give(tenant.common[at], count);
}

}  // namespace larder
