#include "actors/removal_set.h"

#include <algorithm>
#include <utility>

namespace larder {

std::vector<LocatedKey> RemovalSet::take(std::size_t limit) {
  const std::size_t count = std::min(limit, chosen_.size());
  std::vector<LocatedKey> taken(chosen_.end() - static_cast<std::ptrdiff_t>(count), chosen_.end());
  chosen_.resize(chosen_.size() - count);
  return taken;
}

PrefixSet::PrefixSet(NamespaceRef ns, const std::vector<BlockHash>& prefix)
    : ns_(std::move(ns)),
      last_(prefix.back()),
      last_position_(static_cast<std::uint32_t>(prefix.size() - 1)),
      inside_(prefix.begin(), prefix.end() - 1) {}

bool PrefixSet::belongs(const ScanCall::Row& row) const {
  if (row.key.hash == last_) return true;
  if (row.parent == last_ || descendants_.contains(row.parent)) return true;
  if (row.position < last_position_ || row.key.group.value() >= ns_->spec.groups.size()) {
    return false;
  }
  // Begins at or before the prefix's last unit and ends behind it, with a parent (or none) inside.
  const std::uint32_t units =
      ns_->spec.groups[row.key.group.value()].block_tokens / ns_->spec.unit_tokens;
  const bool straddles =
      row.position > last_position_ && row.position + 1 - units <= last_position_;
  return straddles && (row.parent == BlockHash{} || inside_.contains(row.parent));
}

void PrefixSet::follow(const LocatedKey& at) {
  choose(at);
  if (descendants_.insert(at.key.hash).second) unexplored_.push_back(at.key.hash);
}

void PrefixSet::offer(const ScanCall::Row& row, ShardId shard) {
  const LocatedKey at{row.key, shard};
  present_.insert(row.key.hash);
  if (belongs(row)) return follow(at);
  const auto first = children_.try_emplace(row.parent, kNone).first;
  if (row.position > last_position_) parents_.push_back(row.parent);
  waiting_.push_back({at, first->second});
  first->second = static_cast<std::uint32_t>(waiting_.size() - 1);
}

/// Nobody knows what stood before the blocks behind a parent that is not there.
void PrefixSet::take_in_orphans_of(const BlockHash& parent) {
  if (parent == BlockHash{} || present_.contains(parent) || inside_.contains(parent)) return;
  missing_.insert(parent);
  if (rounds_ < kDoubtRounds && !missing_before_.contains(parent)) {
    unsure_ = true;
    return;
  }
  if (descendants_.insert(parent).second) unexplored_.push_back(parent);
}

bool PrefixSet::expand(std::size_t limit) {
  for (std::size_t step = 0; step < limit; ++step) {
    if (unexplored_.empty()) {
      if (parents_.empty()) return true;
      take_in_orphans_of(parents_.back());
      parents_.pop_back();
      continue;
    }
    const auto found = children_.find(unexplored_.back());
    if (found == children_.end()) {
      unexplored_.pop_back();
      continue;
    }
    // One child a step; the parent stays until it has none left.
    const Waiting& child = waiting_[found->second];
    if (child.next == kNone) {
      const LocatedKey at = child.at;
      children_.erase(found);
      unexplored_.pop_back();
      follow(at);
    } else {
      found->second = child.next;
      follow(child.at);
      // follow() may have put the child on top: its children first is as good an order as any.
    }
  }
  return unexplored_.empty() && parents_.empty();
}

void PrefixSet::next_round() {
  waiting_.clear();
  children_.clear();
  present_.clear();
  parents_.clear();
  missing_before_ = std::exchange(missing_, {});
  rounds_ += 1;
  unsure_ = false;
}

}  // namespace larder
