#include "actors/corrupt_block.h"

#include <fmt/format.h>

#include "actors/node_context.h"
#include "store/hash_text.h"

namespace larder {

void condemn(NodeContext& node, const LocatedKey& at, const char* found_by) {
  auto note = std::make_shared<QuarantineNote>();
  note->key = at.key;
  node.shards.send(at.shard, std::shared_ptr<const QuarantineNote>(note));
  count(node.metrics.blocks_quarantined);
  node.log(fmt::format("block_corrupt found_by={} ns={:016x} hash={} group={} rank={}", found_by,
                       at.key.ns.value(), hash_text(at.key.hash), at.key.group.value(),
                       at.key.rank.value()));
}

void Suspects::add(const LocatedKey& at) {
  MutexLock lock(&mutex_);
  if (blocks_.size() < kMax) blocks_.push_back(at);
}

std::optional<LocatedKey> Suspects::take() {
  MutexLock lock(&mutex_);
  if (blocks_.empty()) return std::nullopt;
  const LocatedKey at = blocks_.front();
  blocks_.pop_front();
  return at;
}

}  // namespace larder
