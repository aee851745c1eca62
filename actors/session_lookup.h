#pragma once

#include <optional>
#include <span>
#include <vector>

#include "actors/namespace_table.h"
#include "store/index.h"
#include "store/node_store.h"
#include "transport/records.h"

namespace larder {

/// A key and the shard that answers for it.
struct LocatedKey {
  BlockKey key;
  ShardId shard;
};

/// A leased block, and where to give the lease back.
struct HeldBlock {
  LocatedKey at;
  Hold hold;
};

/// What is wrong with a record in this namespace, or nothing: group, rank, length and flat flag.
std::optional<wire::KeyStatus> check_record(const NamespaceInfo& ns, const wire::KeyRecord& record,
                                            bool length_needed);

LocatedKey locate(const NamespaceInfo& ns, const wire::KeyRecord& record, std::uint32_t shards);

/// Entries of many keys over all shards, cache misses overlapped. Runs in a registered reader.
std::vector<EntryId> find_all(const NodeStore& store, std::span<const LocatedKey> keys);

/// Leases a committed block; nothing when it is not there (any more) or expired.
std::optional<HeldBlock> hold(NodeStore& store, const LocatedKey& at, EntryId entry);
void release(NodeStore& store, const HeldBlock& held);
/// Committed and not expired. Looks without a lease where no expiry has to be read.
bool is_there(NodeStore& store, const LocatedKey& at, EntryId entry);

}  // namespace larder
