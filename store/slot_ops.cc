#include "store/slot_ops.h"

#include <atomic>
#include <cstddef>
#include <cstring>

#include <xxhash.h>

#include "store/assert.h"
#include "store/crash_point.h"
#include "store/limits.h"

namespace larder {

namespace {

/// TSan knows no fences; the read-modify-write before it is one on x86 anyway.
void full_fence() {
#ifndef LARDER_SANITIZE_THREAD
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Of every field before `committed`, generation included.
std::uint64_t header_checksum(const SlotHeader& header) {
  unsigned char bytes[offsetof(SlotHeader, committed)];
  const std::uint64_t generation = header.generation.load(std::memory_order_relaxed);
  std::memcpy(bytes, &generation, sizeof generation);
  std::memcpy(bytes + sizeof generation, &header.magic, sizeof bytes - sizeof generation);
  return XXH3_64bits(bytes, sizeof bytes);
}

/// A key field: peek_key() may read it meanwhile.
template <class Field>
void store_shared(Field& field, Field value) {
  std::atomic_ref<Field>(field).store(value, std::memory_order_relaxed);
}
template <class Field>
Field load_shared(Field& field) {
  return std::atomic_ref<Field>(field).load(std::memory_order_relaxed);
}

}  // namespace

void begin_reuse(SlotHeader& header) {
  header.committed.store(0, std::memory_order_release);
  crash_point("begin_reuse");
  header.generation.fetch_add(1, std::memory_order_seq_cst);
  full_fence();
}

void prepare(SlotHeader& header, const SlotFields& fields) {
  LARDER_ASSERT(header.committed.load(std::memory_order_relaxed) == 0);
  header.magic = kSlotHeaderMagic;
  header.version = kSlotHeaderVersion;
  header.ranks = static_cast<std::uint16_t>(fields.ranks);
  store_shared(header.ns, fields.key.ns.value());
  store_shared(header.hash_high, fields.key.hash.high);
  store_shared(header.hash_low, fields.key.hash.low);
  header.parent_high = fields.parent.high;
  header.parent_low = fields.parent.low;
  header.anchor_high = fields.anchor.high;
  header.anchor_low = fields.anchor.low;
  header.engine_hash = fields.engine_hash;
  header.writer = fields.writer.value();
  header.expiry_wall_ns = fields.expiry_wall_ns;
  header.checksum = 0;
  header.length = fields.length;
  header.position = fields.position;
  store_shared(header.group, fields.key.group.value());
  store_shared(header.rank, fields.key.rank.value());
}

void seal(SlotHeader& header, std::uint64_t checksum) {
  LARDER_ASSERT(header.committed.load(std::memory_order_relaxed) == 0);
  full_fence();  // the payload, non-temporal stores included, is there before the mark
  header.checksum = checksum;
  header.header_checksum = header_checksum(header);
  crash_point("seal");
  header.committed.store(1, std::memory_order_release);
}

void clear(SlotHeader& header) {
  header.committed.store(0, std::memory_order_release);
}

SlotCondition inspect(const SlotHeader& header, Bytes slot_bytes) {
  const std::uint32_t committed = header.committed.load(std::memory_order_acquire);
  if (committed == 0) return SlotCondition::kEmpty;
  const bool whole = committed == 1 && header.magic == kSlotHeaderMagic &&
                     header.version == kSlotHeaderVersion && header.ranks > 0 &&
                     header.ranks <= limits::kRanksMax && header.group < limits::kGroupsMax &&
                     header.length > 0 && header.length <= slot_bytes.count &&
                     header.header_checksum == header_checksum(header);
  return whole ? SlotCondition::kCommitted : SlotCondition::kDamaged;
}

BlockKey peek_key(SlotHeader& header) {
  return {.ns = NamespaceId(load_shared(header.ns)),
          .hash = {load_shared(header.hash_high), load_shared(header.hash_low)},
          .group = GroupId(load_shared(header.group)),
          .rank = Rank(load_shared(header.rank))};
}

}  // namespace larder
