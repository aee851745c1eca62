#include "actors/request_end.h"

#include <algorithm>
#include <utility>

#include "actors/session_limits.h"

namespace larder {

RequestEnd::RequestEnd(NodeContext& node, TenantUse& tenant, SessionRequest request,
                       std::uint32_t output_tokens)
    : node_(node),
      tenant_(tenant),
      request_(request.context.request),
      blocks_(request.has ? std::move(request.has) : std::make_unique<RequestBlocks>()),
      length_(blocks_->chain.size()),
      output_tokens_(output_tokens),
      sequence_(node.store.sequence.fetch_add(1, std::memory_order_relaxed)),
      touches_(node.store.shards()),
      holds_(node.store.shards()) {}

bool RequestEnd::step(std::size_t& blocks) {
  if (!find_runs(blocks)) return false;
  for (; blocks > 0 && !runs_.empty(); --blocks)
    touch_last();
  if (!runs_.empty()) return false;
  for (; blocks > 0 && !blocks_->pinned.empty(); --blocks)
    unpin_one();
  if (!blocks_->pinned.empty()) return false;
  // The memory of a long one goes in steps, too.
  for (; blocks > 0 && blocks_->chain.size() > kEndStep; --blocks)
    blocks_->chain.pop_back();
  if (blocks_->chain.size() > kEndStep) return false;
  send_ends();
  blocks -= std::min<std::size_t>(blocks, holds_.size());
  return true;
}

/// True when all of the chain is in runs. To look at a link costs little, a run what a touch does.
bool RequestEnd::find_runs(std::size_t& blocks) {
  constexpr std::size_t kLinksABlock = 16;
  const std::size_t left = length_ - scanned_;
  const std::size_t looks = blocks > left ? left : std::min(left, blocks * kLinksABlock);
  for (const std::size_t end = scanned_ + looks; scanned_ < end && blocks > 0; ++scanned_) {
    if (scanned_ == run_begin_ || unit_at(scanned_) >= unit_at(scanned_ - 1)) continue;
    push({std::exchange(run_begin_, scanned_), scanned_});
    blocks -= 1;
  }
  if (scanned_ < length_) return false;
  if (run_begin_ < length_) push({std::exchange(run_begin_, length_), length_});
  return true;
}

void RequestEnd::push(const Run& run) {
  runs_.push_back(run);
  std::push_heap(runs_.begin(), runs_.end(), [this](const Run& a, const Run& b) {
    return unit_at(a.end - 1) < unit_at(b.end - 1);
  });
}

/// The block with the highest unit of those that are left.
void RequestEnd::touch_last() {
  std::pop_heap(runs_.begin(), runs_.end(), [this](const Run& a, const Run& b) {
    return unit_at(a.end - 1) < unit_at(b.end - 1);
  });
  Run run = runs_.back();
  runs_.pop_back();
  run.end -= 1;
  const auto& [at, unit] = blocks_->chain[run.end];
  std::vector<TouchItem>& touches = touches_[at.shard.value()];
  // A step of a shard is bounded; keys of one unit stay together, which is touched once.
  if (touches.size() >= kTouchStep && unit != last_unit_) send_part(at.shard);
  last_unit_ = unit;
  touches.push_back({at.key, Stamp(sequence_ << kStampPositionBits | touched_)});
  touched_ += 1;
  if (run.begin < run.end) push(run);
}

void RequestEnd::unpin_one() {
  const HeldBlock held = blocks_->pinned.front();
  blocks_->pinned.pop_front();
  std::unique_ptr<NoteHolds>& holds = holds_[held.at.shard.value()];
  if (holds && holds->size() >= kTouchStep) send_part(held.at.shard);
  if (!holds) {
    holds =
        std::make_unique<NoteHolds>(node_.store, held.at.shard, node_.pins.pot(), tenant_.pinned);
  }
  holds->add(held.hold);
}

/// What a shard has to be told, before it is too much for one step.
void RequestEnd::send_part(ShardId shard) {
  auto note = std::make_shared<TouchNote>();
  note->request = request_;
  note->touches = std::exchange(touches_[shard.value()], {});
  note->holds = std::move(holds_[shard.value()]);
  node_.shards.send(shard, std::shared_ptr<const TouchNote>(std::move(note)));
}

void RequestEnd::send_ends() {
  for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
    auto note = std::make_shared<RequestEndNote>();
    note->request = request_;
    note->output_tokens = output_tokens_;
    note->touches = std::move(touches_[shard]);
    note->holds = std::move(holds_[shard]);
    node_.shards.send(ShardId(shard), std::shared_ptr<const RequestEndNote>(std::move(note)));
  }
}

}  // namespace larder
