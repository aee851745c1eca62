#pragma once

#include <atomic>
#include <cstdint>

#include "store/types.h"

namespace larder {

inline constexpr std::uint32_t kSlotHeaderMagic = 0x4c534c54;  // "TLSL" little endian
inline constexpr std::uint16_t kSlotHeaderVersion = 1;
/// In a slab's header file one page describes the slab, then its slots' headers follow.
inline constexpr std::uint64_t kSlotHeadersOffset = 4096;

/// What is known of a slot's block; stands in a file of its own beside the slab (slots hold payload
/// alone), so that a restart re-adopts blocks by scanning headers. 128 bytes on disk, little
/// endian, mapped read-only by clients, who read nothing of it but `generation`.
struct SlotHeader {
  /// Only grows, over restarts too; raised before the first byte of every reuse.
  std::atomic<std::uint64_t> generation;
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t ranks;  ///< of the namespace: how many entries make the block's unit
  std::uint64_t ns;
  std::uint64_t hash_high, hash_low;
  std::uint64_t parent_high, parent_low;
  std::uint64_t anchor_high, anchor_low;
  std::uint64_t engine_hash;
  std::uint64_t writer;
  std::int64_t expiry_wall_ns;  ///< 0: never
  std::uint64_t checksum;       ///< XXH3-64 of the block
  std::uint32_t length;
  std::uint32_t position;
  std::uint16_t group;
  std::uint16_t rank;
  /// 1: committed. Written last, cleared before reuse.
  std::atomic<std::uint32_t> committed;
  /// XXH3-64 of every field above but `committed`, generation included.
  std::uint64_t header_checksum;
};
static_assert(sizeof(SlotHeader) == 128);

}  // namespace larder
