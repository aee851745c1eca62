#pragma once

#include <bit>

#include "policies/ranked_policy.h"

namespace larder {

/// Least frequently used with ageing, uses a byte (GreedyDual-Size-Frequency: Cherkasova 1998): a
/// block's rank is its uses by its size, above the rank of who left last when it was used. Of equal
/// ranks the least recent leaves.
class LfuPolicy final : public RankedPolicy {
 protected:
  Rank rank_of_new(const PolicyInsert& insert, const RequestContext* /*context*/) override {
    const auto n = insert.id.value();
    if (blocks_.size() <= n) blocks_.resize(n + 1);
    const double bytes = insert.size.count == 0 ? 1 : static_cast<double>(insert.size.count);
    blocks_[n] = {.uses = 0, .kib = static_cast<float>(bytes / 1024)};
    return used(insert.id, insert.stamp);
  }
  /// A block's first touch is that of the request that inserted it.
  Rank rank_of_hit(PolicyId id, Stamp stamp, const RequestContext* /*context*/) override {
    return used(id, stamp);
  }
  void on_evict(PolicyId id) override { age_ = std::bit_cast<double>(order_.rank(id).major); }
  double value_of(Rank rank) const override { return std::bit_cast<double>(rank.major); }

 private:
  struct Block {
    float uses = 0;
    float kib = 1;
  };
  Rank used(PolicyId id, Stamp stamp) {
    Block& block = blocks_[id.value()];
    block.uses += 1;
    // Doubles that are not negative sort like their bits.
    return {std::bit_cast<std::uint64_t>(age_ + double{block.uses / block.kib}), stamp.value()};
  }

  std::vector<Block> blocks_;  // by id
  double age_ = 0;
};

}  // namespace larder
