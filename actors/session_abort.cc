#include "actors/session_abort.h"

namespace larder {

void abort_reserved(NodeContext& node, const ShardCall& call) {
  const auto* reserve = dynamic_cast<const ReserveCall*>(&call);
  if (reserve == nullptr) return;
  auto note = std::make_shared<AbortNote>(reserve->shard, reserve->reply_to);
  for (const ReserveItem& item : reserve->items) {
    if (item.outcome != ReserveOutcome::kReserved) continue;
    note->items.push_back({item.entry, item.entry_generation});
  }
  if (note->items.empty()) return;
  node.shards.send(reserve->shard, std::shared_ptr<const AbortNote>(note));
}

}  // namespace larder
