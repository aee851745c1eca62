#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/shard.h"

namespace larder {

/// A shard's counters as others see them: the shard's actor publishes, anyone reads. They go on
/// from where a dead actor's ended.
class ShardCounters {
 public:
  static constexpr std::array<const char*, 13> kNames = {"shard_inserts",
                                                         "shard_hits",
                                                         "evictions",
                                                         "removals",
                                                         "expirations",
                                                         "shard_aborts",
                                                         "admission_refused",
                                                         "shard_quarantined",
                                                         "orphans",
                                                         "adopted",
                                                         "evictions_for_capacity",
                                                         "evictions_for_slot",
                                                         "evictions_for_slab"};

  /// The shard's actor.
  void publish(const Shard::Counters& counters, std::size_t parked, Time now) {
    const std::uint64_t for_others = counters.evictions_for_slot + counters.evictions_for_slab;
    const std::array<std::uint64_t, kNames.size()> values = {counters.inserts,
                                                             counters.hits,
                                                             counters.evictions,
                                                             counters.removals,
                                                             counters.expirations,
                                                             counters.aborts,
                                                             counters.refused,
                                                             counters.quarantined,
                                                             counters.orphans,
                                                             counters.adopted,
                                                             counters.evictions - for_others,
                                                             counters.evictions_for_slot,
                                                             counters.evictions_for_slab};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_[i].store(base_[i] + values[i], std::memory_order_relaxed);
    }
    parked_.store(parked, std::memory_order_relaxed);
    seen_at(now);
  }
  /// The shard's actor: it is at work, but has nothing to tell yet.
  void seen_at(Time now) { seen_.store(now, std::memory_order_relaxed); }
  /// Before a new actor starts counting from zero.
  void restart() {
    for (std::size_t i = 0; i < base_.size(); ++i) {
      base_[i] = values_[i].load(std::memory_order_relaxed);
    }
  }
  std::uint64_t value(std::size_t i) const { return values_[i].load(std::memory_order_relaxed); }
  /// When the actor published last.
  Time seen() const { return seen_.load(std::memory_order_relaxed); }
  std::uint64_t parked() const { return parked_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kNames.size()> values_{};
  std::array<std::uint64_t, kNames.size()> base_{};
  std::atomic<std::uint64_t> parked_{0};
  std::atomic<Time> seen_{Time{}};
};

inline std::vector<std::pair<std::string, std::uint64_t>> sum_counters(
    const std::vector<std::unique_ptr<ShardCounters>>& shards) {
  std::vector<std::pair<std::string, std::uint64_t>> sums;
  for (std::size_t i = 0; i < ShardCounters::kNames.size(); ++i) {
    std::uint64_t sum = 0;
    for (const auto& shard : shards)
      sum += shard->value(i);
    sums.emplace_back(ShardCounters::kNames[i], sum);
  }
  return sums;
}

}  // namespace larder
