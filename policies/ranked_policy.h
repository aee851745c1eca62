#pragma once

#include "policies/leaf_policy.h"

namespace larder {

/// What FIFO, LFU and the watermark baseline share: the leaf of the least rank leaves.
///
/// Not thread-safe: one shard owns it.
class RankedPolicy : public LeafPolicy {
 public:
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override {
    order_.insert(insert.id, insert.parent, rank_of_new(insert, context));
  }
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override {
    if (order_.tracked(id)) order_.move(id, rank_of_hit(id, stamp, context));
  }
  void on_erase(PolicyId id, EraseCause cause) override {
    if (order_.tracked(id) && cause == EraseCause::kEvicted) on_evict(id);
    order_.erase(id);
  }
  std::optional<Victim> victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) override {
    const auto id = order_.first(LeafOrder::kFirst, LeafOrder::kLast, skip);
    if (!id) return std::nullopt;
    return Victim{*id, value_of(order_.rank(*id))};
  }

 protected:
  using Rank = LeafOrder::Rank;
  virtual Rank rank_of_new(const PolicyInsert& insert, const RequestContext* context) = 0;
  virtual Rank rank_of_hit(PolicyId id, Stamp stamp, const RequestContext* context) = 0;
  virtual void on_evict(PolicyId /*id*/) {}
  /// Comparable between shards.
  virtual double value_of(Rank rank) const { return static_cast<double>(rank.major); }
};

}  // namespace larder
