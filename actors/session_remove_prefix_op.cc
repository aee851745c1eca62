#include "actors/session_remove_prefix_op.h"

#include <numeric>
#include <utility>

#include "actors/session_calls.h"
#include "actors/session_erase_op.h"
#include "actors/session_list_op.h"
#include "store/limits.h"

namespace larder {

namespace {

/// Entries a shard looks at, blocks followed and blocks erased in one step: a few hundred
/// microseconds each.
constexpr std::uint32_t kScanStep = 1'024;
constexpr std::size_t kExpandStep = 1'024;
constexpr std::size_t kEraseStep = 512;

}  // namespace

PrefixSet::PrefixSet(const NamespaceInfo& ns, const std::vector<BlockHash>& prefix)
    : ns_(ns),
      last_(prefix.back()),
      last_position_(static_cast<std::uint32_t>(prefix.size() - 1)),
      inside_(prefix.begin(), prefix.end() - 1) {}

bool PrefixSet::belongs(const ScanCall::Row& row) const {
  if (row.key.hash == last_) return true;
  if (row.parent == last_ || descendants_.contains(row.parent)) return true;
  if (row.position < last_position_ || row.key.group.value() >= ns_.spec.groups.size()) {
    return false;
  }
  // Begins at or before the prefix's last unit and ends behind it, with a parent (or none) inside.
  const std::uint32_t units =
      ns_.spec.groups[row.key.group.value()].block_tokens / ns_.spec.unit_tokens;
  const bool straddles =
      row.position > last_position_ && row.position + 1 - units <= last_position_;
  return straddles && (row.parent == BlockHash{} || inside_.contains(row.parent));
}

void PrefixSet::choose(const LocatedKey& at) {
  chosen_.push_back(at);
  if (descendants_.insert(at.key.hash).second) unexplored_.push_back(at.key.hash);
}

void PrefixSet::offer(const ScanCall::Row& row, ShardId shard) {
  const LocatedKey at{row.key, shard};
  if (belongs(row)) return choose(at);
  const auto [first, added] = children_.try_emplace(row.parent, kNone);
  waiting_.push_back({at, first->second});
  first->second = static_cast<std::uint32_t>(waiting_.size() - 1);
}

bool PrefixSet::expand(std::size_t limit) {
  for (std::size_t step = 0; step < limit && !unexplored_.empty(); ++step) {
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
      choose(at);
    } else {
      found->second = child.next;
      choose(child.at);
      // choose() may have put the child on top: its children first is as good an order as any.
    }
  }
  return unexplored_.empty();
}

std::vector<LocatedKey> PrefixSet::take(std::size_t limit) {
  const std::size_t count = std::min(limit, chosen_.size());
  std::vector<LocatedKey> taken(chosen_.end() - static_cast<std::ptrdiff_t>(count), chosen_.end());
  chosen_.resize(chosen_.size() - count);
  return taken;
}

void PrefixSet::next_round() {
  waiting_.clear();
  children_.clear();
}

RemovePrefixOp::RemovePrefixOp(Session& session, std::uint64_t id, NamespaceRef ns,
                               std::vector<BlockHash> prefix)
    : session_(session), id_(id), ns_(std::move(ns)), set_(*ns_, prefix) {}

void RemovePrefixOp::start() {
  state_ = State::kScanning;
  rounds_ += 1;
  found_ = false;
  removed_before_ = removed_;
  set_.next_round();
  asked_ = 1;
  send_scan(session_, id_, ns_->id, 0, kScanStep);
}

void RemovePrefixOp::on_answer(ShardCall& call) {
  asked_ -= 1;
  lost_ = lost_ || call.lost;
  if (auto* erased = dynamic_cast<EraseCall*>(&call)) {
    removed_ += std::accumulate(erased->erased.begin(), erased->erased.end(), std::uint64_t{0});
  }
  // The id is not free before the last answer.
  if (asked_ > 0) return;
  if (cancelled_) return answer(absl::CancelledError("the removal was cancelled"));
  if (lost_) return answer(absl::UnavailableError("a shard is being restarted; ask again"));
  if (auto* scan = dynamic_cast<ScanCall*>(&call)) return on_scan(*scan);
  erase_some();
}

void RemovePrefixOp::on_scan(ScanCall& call) {
  for (const ScanCall::Row& row : call.rows)
    set_.offer(row, call.shard);
  bool end = false;
  const std::uint64_t cursor = next_cursor(call, session_.node().store.shards(), &end);
  if (end) {
    state_ = State::kExpanding;
    return;
  }
  asked_ = 1;
  send_scan(session_, id_, ns_->id, cursor, kScanStep);
}

void RemovePrefixOp::step(Time /*now*/, std::size_t& /*budget*/) {
  if (state_ != State::kExpanding || !set_.expand(kExpandStep)) return;
  state_ = State::kErasing;
  erase_some();
}

void RemovePrefixOp::cancel() {
  if (state_ == State::kAnswered) return;
  cancelled_ = true;
  if (asked_ == 0) answer(absl::CancelledError("the removal was cancelled"));
}

void RemovePrefixOp::erase_some() {
  const std::vector<LocatedKey> keys = set_.take(kEraseStep);
  if (keys.empty()) {
    // Nothing found, or nothing of it was there to be erased: what remains is not committed.
    if (!found_ || removed_ == removed_before_) return answer(absl::OkStatus());
    if (rounds_ < kRoundsMax) return start();
    return answer(absl::AbortedError("blocks of the prefix are put as fast as they are removed"));
  }
  found_ = true;
  for (const LocatedKey& at : keys)
    session_.node().pins.unpin(session_.node().store, at.key, session_.node().pinned_bytes);
  asked_ = send_erases(session_, id_, keys);
}

void RemovePrefixOp::answer(const absl::Status& status) {
  state_ = State::kAnswered;
  wire::SimpleReply body;
  if (!status.ok()) set_status(body.mutable_status(), status);
  body.set_count(removed_);
  session_.reply(FrameType::kRemovePrefix, id_, body);
}

}  // namespace larder
