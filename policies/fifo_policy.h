#pragma once

#include "policies/ranked_policy.h"

namespace larder {

/// First in, first out, leaves first.
class FifoPolicy final : public RankedPolicy {
 protected:
  Rank rank_of_new(const PolicyInsert& insert, const RequestContext* /*context*/) override {
    return {insert.stamp.value(), 0};
  }
  Rank rank_of_hit(PolicyId id, Stamp /*stamp*/, const RequestContext* /*context*/) override {
    return order_.rank(id);
  }
};

}  // namespace larder
