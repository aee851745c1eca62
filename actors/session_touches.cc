#include "actors/session_touches.h"

#include <utility>

#include "actors/session_limits.h"

namespace larder {

void TouchBook::add(std::span<const LocatedKey> keys, std::optional<RequestId> request) {
  if (keys.empty()) return;
  if (request != request_) flush();
  request_ = request;
  notes_.resize(node_.store.shards());
  const std::uint64_t sequence = node_.store.sequence.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = keys.size(); i-- > 0;) {
    auto& note = notes_[keys[i].shard.value()];
    if (!note) note = std::make_shared<TouchNote>();
    note->request = request;
    note->touches.push_back(
        {keys[i].key, Stamp(sequence << kStampPositionBits | (keys.size() - 1 - i))});
    if (note->touches.size() == kTouchStep) {
      node_.shards.send(keys[i].shard, std::shared_ptr<const TouchNote>(std::move(note)));
      note = nullptr;
    }
  }
  touches_ += keys.size();
  if (touches_ >= kTouchStep) flush();
}

void TouchBook::flush() {
  if (touches_ == 0) return;
  touches_ = 0;
  for (std::uint32_t shard = 0; shard < notes_.size(); ++shard) {
    if (!notes_[shard]) continue;
    node_.shards.send(ShardId(shard), std::shared_ptr<const TouchNote>(std::move(notes_[shard])));
    notes_[shard] = nullptr;
  }
}

}  // namespace larder
