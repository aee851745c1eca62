#include "actors/pin_table.h"

#include <algorithm>

namespace larder {

bool PinTable::pin(NodeStore& store, TenantUse& tenant, const HeldBlock& held, Time until,
                   const SharedPot::Bounds& bounds) {
  MutexLock lock(&mutex_);
  if (const auto found = pins_.find(held.at.key); found != pins_.end()) {
    if (found->second.held.hold.entry == held.hold.entry) {
      found->second.until = std::max(found->second.until, until);
      release(store, held);
      return true;
    }
    // The block it held was removed and written anew: the old lease has nothing to keep.
    give_back(store, found->second);
    pins_.erase(found);
  }
  if (!pot_.take(tenant.pinned, held.hold.length.count, bounds)) return false;
  pins_.emplace(held.at.key, Pin{held, until, &tenant});
  if (until < earliest_.load(std::memory_order_relaxed)) {
    earliest_.store(until, std::memory_order_relaxed);
  }
  return true;
}

bool PinTable::unpin(NodeStore& store, const BlockKey& key) {
  MutexLock lock(&mutex_);
  const auto found = pins_.find(key);
  if (found == pins_.end()) return false;
  give_back(store, found->second);
  pins_.erase(found);
  return true;
}

void PinTable::expire(NodeStore& store, Time now) {
  if (now < earliest_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&mutex_);
  Time earliest = Time::max();
  absl::erase_if(pins_, [&](const auto& item) {
    if (item.second.until > now) {
      earliest = std::min(earliest, item.second.until);
      return false;
    }
    give_back(store, item.second);
    return true;
  });
  earliest_.store(earliest, std::memory_order_relaxed);
}

void PinTable::give_back(NodeStore& store, const Pin& pin) {
  pot_.give(pin.tenant->pinned, pin.held.hold.length.count);
  release(store, pin.held);
}

std::size_t PinTable::size() const {
  MutexLock lock(&mutex_);
  return pins_.size();
}

}  // namespace larder
