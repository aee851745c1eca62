#pragma once

#include "policies/leaf_order.h"
#include "store/eviction_policy.h"

namespace larder {

/// What the baselines share: leaves in an order of some kind, and every new block comes in.
///
/// Owns a LeafOrder. Not thread-safe: one shard owns it.
class LeafPolicy : public EvictionPolicy {
 public:
  void on_request(const RequestContext& /*context*/) override {}
  void on_request_end(const RequestContext& /*context*/, std::uint32_t /*output*/) override {
    order_.look_anew();
  }
  bool admit(const PolicyInsert& /*candidate*/, const RequestContext* /*context*/,
             double /*cheapest*/) override {
    return true;
  }
  bool has_more() const override { return order_.has_more(); }

 protected:
  LeafOrder order_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

}  // namespace larder
