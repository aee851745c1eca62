#include "actors/corrupt_block.h"

#include <fmt/format.h>

#include "actors/node_context.h"
#include "actors/session_calls.h"
#include "store/hash_text.h"

namespace larder {

namespace {

/// At once for every session; the registry then writes it down.
void turn_off_if_guarded(NodeContext& node, NamespaceId id) {
  const NamespaceRef ns = node.namespaces->find(id);
  if (!ns || node.mode_of(*ns) != NamespaceMode::kGuarded) return;
  ns->mode->store(NamespaceMode::kOff, std::memory_order_relaxed);
  count(node.metrics.namespaces_turned_off);
  node.audit(fmt::format("audit action=turned_off ns={:016x} model=\"{}\" cause=block_corrupt",
                         id.value(), for_log(ns->spec.fingerprint.model)));
  auto note = std::make_shared<SetModeCall>();
  note->ns = id;
  note->mode = NamespaceMode::kOff;
  node.tenants.send(std::move(note));
}

}  // namespace

void condemn(NodeContext& node, const LocatedKey& at, const char* found_by) {
  auto note = std::make_shared<QuarantineNote>();
  note->key = at.key;
  node.shards.send(at.shard, std::shared_ptr<const QuarantineNote>(note));
  count(node.metrics.blocks_quarantined);
  node.log(fmt::format("block_corrupt found_by={} ns={:016x} hash={} group={} rank={}", found_by,
                       at.key.ns.value(), hash_text(at.key.hash), at.key.group.value(),
                       at.key.rank.value()));
  turn_off_if_guarded(node, at.key.ns);
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
