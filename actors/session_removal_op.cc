#include "actors/session_removal_op.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "actors/session_calls.h"
#include "actors/session_erase_op.h"
#include "actors/session_limits.h"
#include "actors/session_list_op.h"
#include "store/limits.h"

namespace larder {

namespace {

/// Entries a shard looks at, and blocks followed, in one step: a few hundred microseconds each.
constexpr std::uint32_t kScanStep = 1'024;
constexpr std::size_t kExpandStep = 1'024;
/// What following kExpandStep blocks takes of a turn's budget, in bytes copied.
constexpr std::size_t kExpandCost = 256 << 10;

}  // namespace

RemovalOp::RemovalOp(Session& session, Options options, std::unique_ptr<RemovalSet> set)
    : session_(session), options_(options), set_(std::move(set)) {}

RemovalOp::~RemovalOp() {
  session_.removals() -= 1;
  session_.node().commons.give(session_.tenant_use(), Common::kRemovals, 1);
}

absl::Status RemovalOp::take_place(Session& session) {
  if (session.removals() >= kSessionRemovalsMax) {
    return absl::ResourceExhaustedError(
        fmt::format("removals: {} of the client are under way, the limit is {}; ask again when one "
                    "has ended",
                    session.removals(), kSessionRemovalsMax));
  }
  NodeContext& node = session.node();
  if (!node.take(session.tenant_use(), Common::kRemovals, 1)) {
    return absl::ResourceExhaustedError(
        fmt::format("removals: {}; ask again when one has ended",
                    node.why_not(session.tenant_use(), Common::kRemovals)));
  }
  session.removals() += 1;
  return absl::OkStatus();
}

void RemovalOp::start() {
  state_ = State::kScanning;
  rounds_ += 1;
  found_ = false;
  removed_before_ = removed_;
  set_->next_round();
  asked_ = 1;
  send_scan(session_, options_.id, options_.ns, 0, kScanStep);
}

void RemovalOp::on_answer(ShardCall& call) {
  asked_ -= 1;
  progress_.moved();
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

void RemovalOp::on_scan(ScanCall& call) {
  for (const ScanCall::Row& row : call.rows)
    set_->offer(row, call.shard);
  bool end = false;
  const std::uint64_t cursor = next_cursor(call, session_.node().store.shards(), &end);
  if (end) {
    state_ = State::kExpanding;
    return;
  }
  asked_ = 1;
  send_scan(session_, options_.id, options_.ns, cursor, kScanStep);
}

void RemovalOp::step(Time /*now*/, std::size_t& budget) {
  budget -= std::min(budget, kExpandCost);
  progress_.moved();
  if (state_ != State::kExpanding || !set_->expand(kExpandStep)) return;
  state_ = State::kErasing;
  erase_some();
}

void RemovalOp::cancel() {
  if (state_ == State::kAnswered) return;
  cancelled_ = true;
  if (asked_ == 0) answer(absl::CancelledError("the removal was cancelled"));
}

void RemovalOp::erase_some() {
  const std::vector<LocatedKey> keys = set_->take(kEraseStep);
  if (keys.empty()) {
    // Nothing found, or nothing of it was there to be erased: what remains is not committed.
    const bool all = !found_ || removed_ == removed_before_;
    if (all && !set_->unsure()) return answer(absl::OkStatus());
    if (rounds_ < kRoundsMax) return start();
    return answer(absl::AbortedError("such blocks are put as fast as they are removed"));
  }
  found_ = true;
  for (const LocatedKey& at : keys)
    session_.node().pins.unpin(session_.node().store, at.key);
  asked_ = send_erases(session_, options_.id, keys);
}

void RemovalOp::answer(const absl::Status& status) {
  state_ = State::kAnswered;
  wire::SimpleReply body;
  if (!status.ok()) set_status(body.mutable_status(), status);
  body.set_count(removed_);
  session_.reply(options_.type, options_.id, body);
}

}  // namespace larder
