#pragma once

#include "policies/leaf_order.h"
#include "store/eviction_policy.h"

namespace larder {

/// What FIFO, LFU and the watermark baseline share: the leaf of the least rank leaves.
///
/// Owns a LeafOrder. Not thread-safe: one shard owns it.
class RankedPolicy : public EvictionPolicy {
 public:
  void on_request(const RequestContext& /*context*/) override {}
  void on_request_end(const RequestContext& /*context*/, std::uint32_t /*output*/) override {
    order_.look_anew();
  }
  bool admit(const PolicyInsert& /*candidate*/, const RequestContext* /*context*/,
             double /*cheapest*/) override {
    return true;
  }
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
  bool has_more() const override { return order_.has_more(); }

 protected:
  using Rank = LeafOrder::Rank;
  virtual Rank rank_of_new(const PolicyInsert& insert, const RequestContext* context) = 0;
  virtual Rank rank_of_hit(PolicyId id, Stamp stamp, const RequestContext* context) = 0;
  virtual void on_evict(PolicyId /*id*/) {}
  /// Comparable between shards.
  virtual double value_of(Rank rank) const { return static_cast<double>(rank.major); }
  const LeafOrder& order() const { return order_; }

 private:
  LeafOrder order_;
};

}  // namespace larder
