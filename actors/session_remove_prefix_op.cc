#include "actors/session_remove_prefix_op.h"

#include <numeric>
#include <utility>

#include "actors/session_calls.h"
#include "actors/session_erase_op.h"
#include "actors/session_list_op.h"
#include "store/limits.h"

namespace larder {

namespace {

std::uint64_t count_erased(const EraseCall& call) {
  return std::accumulate(call.erased.begin(), call.erased.end(), std::uint64_t{0});
}

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

std::vector<std::size_t> PrefixSet::select(const std::vector<ScanCall::Row>& rows) {
  std::vector<std::size_t> chosen;
  std::vector<bool> taken(rows.size(), false);
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (taken[i] || !belongs(rows[i])) continue;
      taken[i] = true;
      chosen.push_back(i);
      found = descendants_.insert(rows[i].key.hash).second || found;
    }
  }
  return chosen;
}

RemovePrefixOp::RemovePrefixOp(Session& session, std::uint64_t id, NamespaceRef ns,
                               std::vector<BlockHash> prefix)
    : session_(session), id_(id), ns_(std::move(ns)), set_(*ns_, prefix) {}

void RemovePrefixOp::start() {
  rounds_ += 1;
  rows_.clear();
  row_shards_.clear();
  send_scan(session_, id_, ns_->id, 0, limits::kListPageMax);
}

void RemovePrefixOp::on_answer(ShardCall& call) {
  if (cancelled_) {
    done_ = erasing_ <= 1;
    erasing_ -= 1;
    return;
  }
  lost_ = lost_ || call.lost;
  if (erasing_ > 0) {
    if (!call.lost) removed_ += count_erased(static_cast<EraseCall&>(call));
    erasing_ -= 1;
    if (erasing_ > 0) return;  // the id is not free before the last answer
  }
  if (lost_) return answer(absl::UnavailableError("a shard is being restarted; ask again"));
  if (auto* scan = dynamic_cast<ScanCall*>(&call)) return on_scan(*scan);
  start();
}

void RemovePrefixOp::on_scan(ScanCall& call) {
  rows_.insert(rows_.end(), call.rows.begin(), call.rows.end());
  row_shards_.resize(rows_.size(), call.shard);
  bool end = false;
  const std::uint64_t cursor = next_cursor(call, session_.node().store.shards(), &end);
  if (!end) return send_scan(session_, id_, ns_->id, cursor, limits::kListPageMax);
  erase_found();
}

void RemovePrefixOp::erase_found() {
  std::vector<LocatedKey> keys;
  for (const std::size_t i : set_.select(rows_)) {
    keys.push_back({rows_[i].key, row_shards_[i]});
    session_.node().pins.unpin(session_.node().store, rows_[i].key, session_.node().pinned_bytes);
  }
  if (keys.empty()) return answer(absl::OkStatus());
  if (rounds_ > kRoundsMax) {
    return answer(absl::AbortedError("blocks of the prefix are put as fast as they are removed"));
  }
  erasing_ = send_erases(session_, id_, keys);
}

void RemovePrefixOp::answer(const absl::Status& status) {
  done_ = true;
  wire::SimpleReply body;
  if (!status.ok()) set_status(body.mutable_status(), status);
  body.set_count(removed_);
  session_.reply(FrameType::kRemovePrefix, id_, body);
}

}  // namespace larder
