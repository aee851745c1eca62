#include "policies/sieve_policy.h"

namespace larder {

void SievePolicy::on_insert(const PolicyInsert& insert, const RequestContext* context) {
  const auto n = insert.id.value();
  if (uses_.size() <= n) uses_.resize(n + 1, Use::kNone);
  uses_[n] = context != nullptr ? Use::kNew : Use::kNone;
  order_.insert(insert.id, insert.parent, {insert.stamp.value(), 0});
}

void SievePolicy::on_hit(PolicyId id, Stamp /*stamp*/, const RequestContext* /*context*/) {
  if (!order_.tracked(id)) return;
  Use& use = uses_[id.value()];
  use = use == Use::kNew ? Use::kNone : Use::kUsed;
}

void SievePolicy::on_erase(PolicyId id, EraseCause /*cause*/) {
  order_.erase(id);
}

std::optional<Victim> SievePolicy::victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) {
  const auto spared = [&](PolicyId id) {
    if (skip(id)) return true;
    Use& use = uses_[id.value()];
    if (use != Use::kUsed) return false;
    use = Use::kNone;
    return true;
  };
  // From the hand to the newest, then over all: in the second round nobody is spared twice.
  auto found = order_.first(hand_, LeafOrder::kLast, spared);
  if (!found && !order_.has_more())
    found = order_.first(LeafOrder::kFirst, LeafOrder::kLast, spared);
  if (!found && !order_.has_more()) found = order_.first(LeafOrder::kFirst, LeafOrder::kLast, skip);
  if (!found) return std::nullopt;
  hand_ = order_.rank(*found);
  return Victim{*found, static_cast<double>(hand_.major)};
}

}  // namespace larder
