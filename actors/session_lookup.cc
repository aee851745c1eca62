#include "actors/session_lookup.h"

#include <algorithm>

#include "actors/clock.h"
#include "store/chain.h"
#include "store/limits.h"

namespace larder {

std::optional<wire::KeyStatus> check_record(const NamespaceInfo& ns, const wire::KeyRecord& record,
                                            bool length_needed) {
  if (record.group >= ns.spec.groups.size()) return wire::KeyStatus::kInvalid;
  if (record.rank >= ns.spec.ranks) return wire::KeyStatus::kInvalid;
  const bool flat = (record.flags & wire::kKeyFlat) != 0;
  if (flat != ns.spec.fingerprint.flat) return wire::KeyStatus::kInvalid;
  if (!length_needed) return std::nullopt;
  if (record.length < limits::kBlockBytesMin.count) return wire::KeyStatus::kInvalid;
  if (record.length > limits::kBlockBytesMax.count) return wire::KeyStatus::kInvalid;
  const Bytes declared = ns.spec.groups[record.group].block_bytes;
  if (declared.count != 0 && declared.count != record.length) return wire::KeyStatus::kSizeMismatch;
  return std::nullopt;
}

LocatedKey locate(const NamespaceInfo& ns, const wire::KeyRecord& record, std::uint32_t shards) {
  const BlockHash& anchor = ns.spec.fingerprint.flat ? record.hash : record.anchor;
  return {{ns.id, record.hash, GroupId(record.group), Rank(record.rank)}, shard_of(anchor, shards)};
}

std::vector<EntryId> find_all(const NodeStore& store, std::span<const LocatedKey> keys) {
  std::vector<EntryId> found(keys.size(), kNoEntry);
  std::vector<BlockKey> batch;
  std::vector<std::size_t> from;
  std::vector<EntryId> answers;
  for (std::uint32_t shard = 0; shard < store.shards(); ++shard) {
    batch.clear();
    from.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].shard.value() != shard) continue;
      batch.push_back(keys[i].key);
      from.push_back(i);
    }
    if (batch.empty()) continue;
    answers.assign(batch.size(), kNoEntry);
    store.indexes[shard]->find_many(batch, answers);
    for (std::size_t i = 0; i < from.size(); ++i)
      found[from[i]] = answers[i];
  }
  return found;
}

std::optional<HeldBlock> hold(NodeStore& store, const LocatedKey& at, EntryId entry) {
  if (entry == kNoEntry) return std::nullopt;
  Index& index = *store.indexes[at.shard.value()];
  const auto leased = index.lease(entry, at.key);
  if (!leased) return std::nullopt;
  // The shard erases what expired when its scan comes by; no reader sees it meanwhile.
  if (expires(index.entry(entry))) {
    const Slab* slab = store.slabs.find(leased->slot.slab);
    if (slab == nullptr || slab->header(leased->slot.slot)->expiry_wall_ns <= wall_ns()) {
      index.release(entry);
      return std::nullopt;
    }
  }
  return HeldBlock{at, *leased};
}

bool is_there(NodeStore& store, const LocatedKey& at, EntryId entry) {
  if (entry == kNoEntry) return false;
  const Entry& e = store.indexes[at.shard.value()]->entry(entry);
  if (EntryWord::unpack(e.word.load(std::memory_order_acquire)).state != EntryState::kCommitted) {
    return false;
  }
  if (!expires(e)) return true;
  const auto held = hold(store, at, entry);
  if (held) release(store, *held);
  return held.has_value();
}

void release(NodeStore& store, const HeldBlock& held) {
  store.indexes[held.at.shard.value()]->release(held.hold.entry);
}

}  // namespace larder
