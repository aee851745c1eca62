#include "actors/request_end.h"

#include <algorithm>
#include <utility>

#include "actors/session_limits.h"

namespace larder {

RequestEnd::RequestEnd(NodeContext& node, TenantUse& tenant, SessionRequest request,
                       std::uint32_t output_tokens)
    : node_(node),
      tenant_(tenant),
      request_(std::move(request)),
      blocks_(request_.chain.size()),
      output_tokens_(output_tokens),
      sequence_(node.store.sequence.fetch_add(1, std::memory_order_relaxed)),
      touches_(node.store.shards()),
      holds_(node.store.shards()) {}

bool RequestEnd::step(std::size_t& blocks) {
  for (; blocks > 0 && pushed_ < request_.run_begins.size(); --blocks) {
    const std::size_t begin = request_.run_begins[pushed_++];
    const bool is_last = pushed_ == request_.run_begins.size();
    push({begin, is_last ? request_.chain.size() : request_.run_begins[pushed_]});
  }
  if (pushed_ < request_.run_begins.size()) return false;
  for (; blocks > 0 && !runs_.empty(); --blocks)
    touch_last();
  if (!runs_.empty()) return false;
  for (; blocks > 0 && !request_.pinned.empty(); --blocks)
    unpin_one();
  if (!request_.pinned.empty()) return false;
  // The memory of a long one goes in steps, too.
  for (; blocks > 0 && request_.chain.size() > kEndStep; --blocks)
    request_.chain.pop_back();
  if (request_.chain.size() > kEndStep) return false;
  send_ends();
  return true;
}

void RequestEnd::push(const Run& run) {
  runs_.push_back(run);
  std::push_heap(runs_.begin(), runs_.end(),
                 [this](const Run& a, const Run& b) { return last_unit_of(a) < last_unit_of(b); });
}

/// The block with the highest unit of those that are left.
void RequestEnd::touch_last() {
  std::pop_heap(runs_.begin(), runs_.end(),
                [this](const Run& a, const Run& b) { return last_unit_of(a) < last_unit_of(b); });
  Run run = runs_.back();
  runs_.pop_back();
  const std::uint32_t unit = last_unit_of(run);
  run.end -= 1;
  const LocatedKey& at = request_.chain[run.end];
  std::vector<TouchItem>& touches = touches_[at.shard.value()];
  // A step of a shard is bounded; keys of one unit stay together, which is touched once.
  if (touches.size() >= kTouchStep && unit != last_unit_) send_part(at.shard);
  last_unit_ = unit;
  touches.push_back({at.key, Stamp(sequence_ << kStampPositionBits | touched_)});
  touched_ += 1;
  if (run.begin < run.end) push(run);
}

void RequestEnd::unpin_one() {
  const HeldBlock held = request_.pinned.front();
  request_.pinned.pop_front();
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
  note->request = request_.context.request;
  note->touches = std::exchange(touches_[shard.value()], {});
  note->holds = std::move(holds_[shard.value()]);
  node_.shards.send(shard, std::shared_ptr<const TouchNote>(std::move(note)));
}

void RequestEnd::send_ends() {
  for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
    auto note = std::make_shared<RequestEndNote>();
    note->request = request_.context.request;
    note->output_tokens = output_tokens_;
    note->touches = std::move(touches_[shard]);
    note->holds = std::move(holds_[shard]);
    node_.shards.send(ShardId(shard), std::shared_ptr<const RequestEndNote>(std::move(note)));
  }
}

}  // namespace larder
