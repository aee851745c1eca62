#pragma once

#include <atomic>
#include <cstdint>

#include "store/types.h"

namespace larder {

/// A capacity and the slot bytes that blocks take of it, exact to the slot: the node's, or a
/// tenant's quota.
///
/// Owns nothing. Any thread, any method, one atomic operation each. Charging never fails: the shard
/// that finds the ledger over evicts.
class Ledger {
 public:
  /// Capacity of a ledger that only counts.
  static constexpr Bytes kUnlimited{~0ULL};

  explicit Ledger(Bytes capacity) : capacity_(capacity.count) {}

  void charge(Bytes bytes) { used_.fetch_add(bytes.count, std::memory_order_relaxed); }
  /// The caller charged `bytes` before.
  void refund(Bytes bytes) { used_.fetch_sub(bytes.count, std::memory_order_relaxed); }

  /// Room that somebody looks for before he takes it: what is over capacity with it leaves.
  void want(Bytes bytes) { wanted_.fetch_add(bytes.count, std::memory_order_relaxed); }
  /// The caller wanted `bytes` before.
  void unwant(Bytes bytes) { wanted_.fetch_sub(bytes.count, std::memory_order_release); }

  Bytes used() const { return {used_.load(std::memory_order_relaxed)}; }
  /// Used and wanted. In this order: who is not seen wanting any more is seen to have taken.
  Bytes demand() const {
    const std::uint64_t wanted = wanted_.load(std::memory_order_acquire);
    return {wanted + used().count};
  }
  Bytes capacity() const { return {capacity_.load(std::memory_order_relaxed)}; }
  /// Blocks above the new capacity leave as shards find the ledger over.
  void set_capacity(Bytes capacity) { capacity_.store(capacity.count, std::memory_order_relaxed); }
  bool over() const { return demand() > capacity(); }

 private:
  alignas(64) std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> wanted_{0};
  std::atomic<std::uint64_t> capacity_;
};

}  // namespace larder
