#include "actors/pin_table.h"

#include <algorithm>
#include <vector>

namespace larder {

bool PinTable::pin(NodeStore& store, const HeldBlock& held, Time until, std::uint64_t quota,
                   std::atomic<std::uint64_t>& pinned_bytes) {
  MutexLock lock(&mutex_);
  if (const auto found = pins_.find(held.at.key); found != pins_.end()) {
    if (found->second.held.hold.entry == held.hold.entry) {
      found->second.until = std::max(found->second.until, until);
      release(store, held);
      return true;
    }
    // The block it held was removed and written anew: the old lease has nothing to keep.
    pinned_bytes.fetch_sub(found->second.held.hold.length.count, std::memory_order_relaxed);
    release(store, found->second.held);
    pins_.erase(found);
  }
  const std::uint64_t length = held.hold.length.count;
  if (pinned_bytes.fetch_add(length, std::memory_order_relaxed) + length > quota) {
    pinned_bytes.fetch_sub(length, std::memory_order_relaxed);
    return false;
  }
  pins_.emplace(held.at.key, Pin{held, until});
  if (until < earliest_.load(std::memory_order_relaxed)) {
    earliest_.store(until, std::memory_order_relaxed);
  }
  return true;
}

bool PinTable::unpin(NodeStore& store, const BlockKey& key,
                     std::atomic<std::uint64_t>& pinned_bytes) {
  MutexLock lock(&mutex_);
  const auto found = pins_.find(key);
  if (found == pins_.end()) return false;
  pinned_bytes.fetch_sub(found->second.held.hold.length.count, std::memory_order_relaxed);
  release(store, found->second.held);
  pins_.erase(found);
  return true;
}

void PinTable::expire(NodeStore& store, Time now, std::atomic<std::uint64_t>& pinned_bytes) {
  if (now < earliest_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&mutex_);
  Time earliest = Time::max();
  absl::erase_if(pins_, [&](const auto& item) {
    if (item.second.until > now) {
      earliest = std::min(earliest, item.second.until);
      return false;
    }
    pinned_bytes.fetch_sub(item.second.held.hold.length.count, std::memory_order_relaxed);
    release(store, item.second.held);
    return true;
  });
  earliest_.store(earliest, std::memory_order_relaxed);
}

std::size_t PinTable::size() const {
  MutexLock lock(&mutex_);
  return pins_.size();
}

}  // namespace larder
