#include "policies/s3fifo_policy.h"

#include <algorithm>

#include "store/limits.h"

namespace larder {

void S3FifoPolicy::on_insert(const PolicyInsert& insert, const RequestContext* context) {
  const auto n = insert.id.value();
  if (blocks_.size() <= n) blocks_.resize(n + 1);
  Block& block = blocks_[n];
  const bool ghost =
      insert.uses > 0 && block.left != 0 && evictions_ - block.left < order_.size() - small_;
  block = {.left = 0, .uses = 0, .is_new = context != nullptr};
  small_ += ghost ? 0 : 1;
  latest_ = std::max(latest_, insert.stamp.value());
  order_.insert(insert.id, insert.parent,
                ghost ? to_main() : LeafOrder::Rank{0, insert.stamp.value()});
}

/// Behind all that is there, and by a stamp, which shards can compare.
LeafOrder::Rank S3FifoPolicy::to_main() {
  tail_ = std::max(tail_ + 1, latest_);
  return {kMain, tail_};
}

void S3FifoPolicy::on_hit(PolicyId id, Stamp stamp, const RequestContext* /*context*/) {
  if (!order_.tracked(id)) return;
  latest_ = std::max(latest_, stamp.value());
  Block& block = blocks_[id.value()];
  if (!block.is_new) block.uses = std::min<std::uint8_t>(block.uses + 1, kUsesMax);
  block.is_new = false;
}

void S3FifoPolicy::on_erase(PolicyId id, EraseCause cause) {
  if (!order_.tracked(id)) return;
  if (order_.rank(id).major != kMain) small_ -= 1;
  if (cause == EraseCause::kEvicted) blocks_[id.value()].left = ++evictions_;
  order_.erase(id);
}

/// Those used since they came move on to the main queue.
std::optional<PolicyId> S3FifoPolicy::of_small(absl::FunctionRef<bool(PolicyId)> skip) {
  for (std::uint32_t looks = 0; looks < limits::kVictimScanMax; ++looks) {
    const auto id = order_.first(LeafOrder::kFirst, {kMain, 0}, skip);
    if (!id || blocks_[id->value()].uses == 0) return id;
    blocks_[id->value()].uses = 0;
    small_ -= 1;
    order_.move(*id, to_main());
  }
  return std::nullopt;
}

std::optional<PolicyId> S3FifoPolicy::of_main(absl::FunctionRef<bool(PolicyId)> skip) {
  for (std::uint32_t looks = 0; looks < limits::kVictimScanMax; ++looks) {
    const auto id = order_.first({kMain, 0}, LeafOrder::kLast, skip);
    if (!id || blocks_[id->value()].uses == 0) return id;
    blocks_[id->value()].uses -= 1;
    order_.move(*id, to_main());
  }
  return std::nullopt;
}

std::optional<Victim> S3FifoPolicy::victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) {
  const bool small_first = small_ * 10 >= order_.size();
  auto id = small_first ? of_small(skip) : of_main(skip);
  if (!id && !order_.has_more()) id = small_first ? of_main(skip) : of_small(skip);
  if (!id) return std::nullopt;
  return Victim{*id, static_cast<double>(order_.rank(*id).minor)};
}

}  // namespace larder
