#include "policies/lru_policy.h"

#include "store/assert.h"
#include "store/limits.h"

namespace larder {

LruPolicy::LruPolicy() {
  make_room_for(kEnds);
  node(kEnds).next = kEnds;
}

void LruPolicy::on_request(const RequestContext& /*context*/) {}

void LruPolicy::on_request_end(const RequestContext& /*context*/, std::uint32_t /*output_tokens*/) {
  request_ended_ = true;
}

bool LruPolicy::admit(const PolicyInsert& /*candidate*/, const RequestContext* /*context*/,
                      double /*cheapest*/) {
  return true;
}

void LruPolicy::on_insert(const PolicyInsert& insert, const RequestContext* /*context*/) {
  const std::uint32_t n = insert.id.value() + 1;
  LARDER_ASSERT(n != kEnds);
  LARDER_ASSERT(!tracked(n));
  make_room_for(n);
  link(n, insert.stamp.value());
}

void LruPolicy::on_hit(PolicyId id, Stamp stamp, const RequestContext* /*context*/) {
  const std::uint32_t n = id.value() + 1;
  if (!tracked(n) || stamp.value() <= node(n).stamp) return;
  unlink(n);
  link(n, stamp.value());
}

void LruPolicy::on_erase(PolicyId id, EraseCause /*cause*/) {
  const std::uint32_t n = id.value() + 1;
  if (!tracked(n)) return;
  unlink(n);
  node(n).next = kUntracked;
}

std::optional<Victim> LruPolicy::victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) {
  const bool crossed = cursor_ == kEnds;
  std::uint32_t seen = 0;
  if (auto again = look_again(seen, skip)) return again;
  for (; seen < limits::kVictimScanMax && cursor_ != kEnds; ++seen) {
    if (!skip(PolicyId(cursor_ - 1))) return victim_at(cursor_);
    cursor_ = node(cursor_).next;
  }
  // What was skipped on the way may be free by now: nothing is said before a round over all.
  if (!crossed && cursor_ == kEnds && round_ == kEnds) round_ = node(kEnds).next;
  return std::nullopt;
}

/// At blocks before the cursor, which were skipped. With none behind it that is all there is.
std::optional<Victim> LruPolicy::look_again(std::uint32_t& seen,
                                            absl::FunctionRef<bool(PolicyId)> skip) {
  const std::uint32_t first = node(kEnds).next;
  // Callers skip for different reasons: what one skipped may be what the next one wants.
  for (std::uint32_t n = first; n != cursor_ && seen < kRecheck; n = node(n).next) {
    if (!skip(PolicyId(n - 1))) return victim_at(n);
    seen += 1;
  }
  const bool all_skipped = cursor_ == kEnds;
  calls_ += 1;
  if (round_ == kEnds && (all_skipped || request_ended_ || calls_ >= kRescanCalls)) {
    round_ = first;
    calls_ = 0;
    request_ended_ = false;
  }
  const std::uint32_t most = limits::kVictimScanMax / (all_skipped ? 1 : 2);
  for (; round_ != kEnds && round_ != cursor_ && seen < most; ++seen) {
    if (!skip(PolicyId(round_ - 1))) return victim_at(round_);
    round_ = node(round_).next;
  }
  if (round_ == cursor_) round_ = kEnds;
  return std::nullopt;
}

Victim LruPolicy::victim_at(std::uint32_t n) {
  return {PolicyId(n - 1), static_cast<double>(node(n).stamp)};
}

bool LruPolicy::tracked(std::uint32_t n) {
  const std::uint32_t chunk = n / kChunkNodes;
  return n != kEnds && chunk < chunks_.size() && chunks_[chunk] != nullptr &&
         node(n).next != kUntracked;
}

void LruPolicy::make_room_for(std::uint32_t n) {
  const std::uint32_t chunk = n / kChunkNodes;
  if (chunks_.size() <= chunk) chunks_.resize(chunk + 1);
  if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Node[]>(kChunkNodes);
}

/// The node behind which `stamp` belongs.
std::uint32_t LruPolicy::place_of(std::uint64_t stamp) {
  const std::uint32_t first = node(kEnds).next;
  const std::uint32_t last = node(kEnds).prev;
  if (first == kEnds || stamp < node(first).stamp) return kEnds;
  if (stamp >= node(last).stamp) return last;
  std::uint32_t before = finger_ == kEnds ? last : finger_;
  if (node(before).stamp <= stamp) {
    while (node(node(before).next).stamp <= stamp)  // ends before the last at the latest
      before = node(before).next;
    return before;
  }
  // Back from there, and forth from the first: whichever is nearer.
  for (std::uint32_t front = first;; front = node(front).next) {
    before = node(before).prev;
    if (node(before).stamp <= stamp) return before;
    if (node(node(front).next).stamp > stamp) return front;
  }
}

void LruPolicy::link(std::uint32_t n, std::uint64_t stamp) {
  const std::uint32_t before = place_of(stamp);
  const std::uint32_t after = node(before).next;
  finger_ = n;
  node(n) = {.prev = before, .next = after, .stamp = stamp};
  node(before).next = n;
  node(after).prev = n;
  // What goes in behind the cursor has not been looked at.
  if (cursor_ == kEnds || stamp < node(cursor_).stamp) {
    cursor_ = n;
    if (round_ != kEnds && stamp < node(round_).stamp) {  // it has passed the cursor's new place
      request_ended_ = true;
      round_ = kEnds;
    }
  }
}

void LruPolicy::unlink(std::uint32_t n) {
  if (round_ == n) round_ = node(n).next;
  if (cursor_ == n) cursor_ = node(n).next;
  if (finger_ == n) finger_ = node(n).prev;
  node(node(n).prev).next = node(n).next;
  node(node(n).next).prev = node(n).prev;
}

}  // namespace larder
