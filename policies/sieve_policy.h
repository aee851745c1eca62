#pragma once

#include <vector>

#include "policies/leaf_order.h"
#include "store/eviction_policy.h"

namespace larder {

/// SIEVE (Zhang et al., NSDI 2024), leaves first: a hand goes from the oldest block to the newest;
/// one used since the hand came by last is spared, the first that was not leaves.
///
/// Owns a LeafOrder and a bit an id. Not thread-safe. victim() clears the bits of those it spares.
class SievePolicy final : public EvictionPolicy {
 public:
  void on_request(const RequestContext& /*context*/) override {}
  void on_request_end(const RequestContext& /*context*/, std::uint32_t /*output*/) override {
    order_.look_anew();
  }
  bool admit(const PolicyInsert& /*candidate*/, const RequestContext* /*context*/,
             double /*cheapest*/) override {
    return true;
  }
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override;
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;
  bool has_more() const override { return order_.has_more(); }

 private:
  enum class Use : std::uint8_t { kNew, kNone, kUsed };  ///< kNew: its own request goes on

  LeafOrder order_;
  std::vector<Use> uses_;  // by id
  LeafOrder::Rank hand_ = LeafOrder::kFirst;
  std::uint64_t inserted_ = 0;
};

}  // namespace larder
