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
  if (!ns) return;
  NamespaceMode own = ns->mode->load(std::memory_order_relaxed);
  if (node.mode_of(*ns) != NamespaceMode::kGuarded) return;
  // Who comes second, or after an administrator, changes nothing.
  if (!ns->mode->compare_exchange_strong(own, NamespaceMode::kOff, std::memory_order_relaxed)) {
    return;
  }
  count(node.metrics.namespaces_turned_off);
  node.audit(fmt::format("audit action=turned_off ns={:016x} model=\"{}\" cause=block_corrupt",
                         id.value(), for_log(ns->spec.fingerprint.model)));
  auto note = std::make_shared<SetModeCall>();
  note->ns = id;
  note->mode = NamespaceMode::kOff;
  note->failed = [log = node.log, id](const absl::Status& why) {
    log(fmt::format("mode_not_kept ns={:016x} mode=off error=\"{}\"", id.value(),
                    std::string(why.message())));
  };
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
