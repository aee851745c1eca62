#pragma once

#include <atomic>
#include <cstdint>

#include "store/types.h"

namespace larder {

/// The node's capacity and the slot bytes that its blocks take, exact to the slot.
///
/// Owns nothing. Any thread, any method, one atomic operation each. Charging never fails: the shard
/// that finds the ledger over evicts.
class Ledger {
 public:
  explicit Ledger(Bytes capacity) : capacity_(capacity.count) {}

  void charge(Bytes bytes) { used_.fetch_add(bytes.count, std::memory_order_relaxed); }
  /// The caller charged `bytes` before.
  void refund(Bytes bytes) { used_.fetch_sub(bytes.count, std::memory_order_relaxed); }

  Bytes used() const { return {used_.load(std::memory_order_relaxed)}; }
  Bytes capacity() const { return {capacity_.load(std::memory_order_relaxed)}; }
  /// Blocks above the new capacity leave as shards find the ledger over.
  void set_capacity(Bytes capacity) { capacity_.store(capacity.count, std::memory_order_relaxed); }
  bool over() const { return used() > capacity(); }

 private:
  alignas(64) std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> capacity_;
};

}  // namespace larder
