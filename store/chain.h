#pragma once

#include <span>
#include <string_view>

#include "store/namespace_spec.h"
#include "store/types.h"

namespace larder {

// Positions count hash units from the root of a prompt. A segment is a run of positions: runs start
// at 0, 1, 2, 4, 8, … up to `segment_units`, then every `segment_units`.

/// First position of the run that holds `position`.
std::uint32_t run_start(std::uint32_t position, std::uint32_t segment_units);

/// Chain hash of the first unit of the run that the block ending at unit `last_unit` belongs to:
/// decides the shard (and the node), never identity. `chain[i]` is the hash of unit i.
BlockHash anchor_of(std::span<const BlockHash> chain, std::uint32_t last_unit,
                    std::uint32_t segment_units);

/// Shard that owns the run with this anchor.
ShardId shard_of(const BlockHash& anchor, std::uint32_t shards);

/// The 128-bit block hash of an engine's name for a block: the *last* 16 bytes of its last hash
/// unit. `unit_hash` may be longer (SHA-256) or shorter (zero-extended at the front).
BlockHash block_hash(std::string_view unit_hash);

/// SHA-256 of all the name's bytes, cut to 128 bits.
BlockHash flat_hash(std::string_view name);

/// Blocks of `group` that a chain of `units` hash units holds in full.
std::uint32_t blocks_in_chain(const GroupSpec& group, std::uint32_t unit_tokens,
                              std::uint32_t units);

/// Unit at which block `n` of `group` ends (its last unit's position).
std::uint32_t last_unit_of_block(const GroupSpec& group, std::uint32_t unit_tokens,
                                 std::uint32_t n);

}  // namespace larder
