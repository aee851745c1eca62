#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/types.h"

namespace larder {

/// Block hash of a trace's hash id: a 128-bit function of the id alone, which already stands for
/// the whole prefix.
BlockHash replay_hash(std::uint64_t id);

/// A block's content is a function of its hash, every word of it also of its place: what comes back
/// can be checked byte for byte without keeping it. About one multiplication for eight bytes.
void fill_block(const BlockHash& hash, std::span<std::byte> block);

/// Bytes of `block` that differ from what fill_block() writes.
std::uint64_t count_wrong_bytes(const BlockHash& hash, std::span<const std::byte> block);

}  // namespace larder
