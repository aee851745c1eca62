#pragma once

#include "policies/ranked_policy.h"

namespace larder {

/// What a well-known store does, as a baseline: the oldest lease leaves. A lease is renewed for all
/// blocks of a request at once, so the order within it is by chance of the id; blocks leave in
/// batches once a watermark is reached, which who runs the policy does (kWatermark, kBatch).
class WatermarkPolicy final : public RankedPolicy {
 public:
  static constexpr double kWatermark = 0.95;  ///< of the capacity: beyond it blocks leave …
  static constexpr double kBatch = 0.05;      ///< … until this part more is free

 protected:
  Rank rank_of_new(const PolicyInsert& insert, const RequestContext* /*context*/) override {
    return {insert.stamp.value() >> kStampPositionBits, insert.id.value()};
  }
  Rank rank_of_hit(PolicyId id, Stamp stamp, const RequestContext* /*context*/) override {
    return {stamp.value() >> kStampPositionBits, id.value()};
  }
};

}  // namespace larder
