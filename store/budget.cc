#include "store/budget.h"

#include <algorithm>

namespace larder {

Budget::Budget(Bytes capacity, std::uint32_t shards) : ledger(capacity), cheapest_(shards) {
  for (std::atomic<double>& value : cheapest_)
    value.store(kNothing, std::memory_order_relaxed);
}

void Budget::withdraw(ShardId shard) {
  publish(shard, kNothing);
}

Budget::Cheapest Budget::cheapest_besides(ShardId own) const {
  Cheapest best{.shard = own, .value = kNothing};
  for (std::uint32_t i = 0; i < cheapest_.size(); ++i) {
    if (i == own.value()) continue;
    const double value = cheapest_[i].load(std::memory_order_relaxed);
    if (value < best.value) best = {.shard = ShardId(i), .value = value};
  }
  return best;
}

bool Budget::has_victim() const {
  return std::any_of(cheapest_.begin(), cheapest_.end(), [](const std::atomic<double>& value) {
    return value.load(std::memory_order_relaxed) < kUnknown;
  });
}

bool Budget::looks_on() const {
  return std::any_of(cheapest_.begin(), cheapest_.end(), [](const std::atomic<double>& value) {
    return value.load(std::memory_order_relaxed) == kUnknown;
  });
}

}  // namespace larder
