#include "policies/leaf_order.h"

#include <algorithm>

#include "store/limits.h"

namespace larder {

void LeafOrder::insert(PolicyId id, std::optional<PolicyId> parent, Rank rank) {
  if (ranks_.size() <= id.value()) {
    ranks_.resize(std::max<std::size_t>(id.value() + 1, ranks_.size() * 3 / 2));
  }
  ranks_[id.value()] = rank;
  size_ += 1;
  if (const auto above = tree_.insert(id, parent)) {
    leaves_.erase({ranks_[above->value()], above->value()});
  }
  leaves_.insert({rank, id.value()});
}

void LeafOrder::move(PolicyId id, Rank rank) {
  Rank& held = ranks_[id.value()];
  if (tree_.leaf(id)) {
    leaves_.erase({held, id.value()});
    leaves_.insert({rank, id.value()});
  }
  held = rank;
}

bool LeafOrder::erase(PolicyId id) {
  if (!tree_.tracked(id)) return false;
  leaves_.erase({ranks_[id.value()], id.value()});
  size_ -= 1;
  if (const auto above = tree_.erase(id)) {
    leaves_.insert({ranks_[above->value()], above->value()});
  }
  return true;
}

std::optional<PolicyId> LeafOrder::first(Rank from, Rank to,
                                         absl::FunctionRef<bool(PolicyId)> skip) {
  Leaf start{from, 0};
  if (resume_ && resume_->rank > from) start = *resume_;
  resume_.reset();
  std::uint32_t looks = 0;
  for (auto at = leaves_.lower_bound(start); at != leaves_.end() && at->rank < to; ++at) {
    if (looks++ == limits::kVictimScanMax) {
      resume_ = *at;
      return std::nullopt;
    }
    if (!skip(PolicyId(at->id))) return PolicyId(at->id);
  }
  return std::nullopt;
}

}  // namespace larder
