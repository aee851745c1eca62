#pragma once

#include <cstdint>

#include "store/slot_header.h"
#include "store/types.h"

namespace larder {

/// What a slot's header says.
enum class SlotCondition : std::uint8_t {
  kEmpty,      ///< nothing committed: free
  kCommitted,  ///< a whole header of a committed block
  kDamaged,    ///< says committed, and does not hold together
};

/// What the shard knows of a block when it reserves the slot: all of the header but the checksum.
struct SlotFields {
  BlockKey key;
  BlockHash parent{};
  BlockHash anchor{};
  std::uint64_t engine_hash = 0;
  WriterId writer{};
  std::int64_t expiry_wall_ns = 0;
  std::uint32_t length = 0;
  std::uint32_t position = 0;
  std::uint32_t ranks = 1;
};

// The life of a slot's header. The caller owns the slot at that moment (the shard that reserves or
// frees it, the io thread that fills it); none of these fails or allocates.
//
//   free --begin_reuse (LentSlot::lend), prepare (shard)--> filling
//   filling --seal (who filled it)--> committed
//   committed or filling --clear (shard)--> free

/// Clears the commit mark, then raises the generation; no later store, non-temporal ones included,
/// becomes visible before it.
void begin_reuse(SlotHeader& header);
/// Writes the fields of the block to come. The slot stays uncommitted.
void prepare(SlotHeader& header, const SlotFields& fields);
/// The slot's bytes are in: writes their checksum and the header's own, the commit mark last.
void seal(SlotHeader& header, std::uint64_t checksum);
/// Takes the commit mark away: a restart finds nothing here.
void clear(SlotHeader& header);
/// Looks at a header of a file that nobody writes.
SlotCondition inspect(const SlotHeader& header, Bytes slot_bytes);
/// Key of a header that another thread may be writing: check it against the index.
BlockKey peek_key(SlotHeader& header);

}  // namespace larder
