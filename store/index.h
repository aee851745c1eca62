#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "store/entry_word.h"
#include "store/huge_memory.h"
#include "store/limits.h"
#include "store/quiescence.h"
#include "store/slot_table.h"
#include "store/types.h"
#include "store/use_tick.h"

namespace larder {

inline constexpr EntryId kNoEntry{0xffffffff};
inline constexpr std::uint32_t kNoUnit = 0xffffffff;  ///< Entry::unit of one that is not tracked

/// One block as the index knows it: a cache line, type-stable (an Entry's memory is never anything
/// else), readable by any thread at any time. Only the shard writes the fields; `word` is shared.
struct alignas(64) Entry {
  std::atomic<std::uint64_t> word{0};  ///< EntryWord: state, leases, generation
  std::atomic<std::uint64_t> hash_high{0};
  std::atomic<std::uint64_t> hash_low{0};
  std::atomic<std::uint64_t> ns{0};
  std::atomic<std::uint64_t> slot{0};        ///< slab id << 32 | slot; kClaimed: the session
  std::atomic<std::uint32_t> group_rank{0};  ///< group << 16 | rank
  /// Bytes of the block (≤ 1 GiB), and kExpiresBit: see length_of() and expires().
  std::atomic<std::uint32_t> length{0};
  /// uses << 24 | children: see uses_of() and children_of().
  std::atomic<std::uint32_t> lineage{0};
  std::uint32_t unit = 0;         ///< PolicyId of the block's unit; shard only. kClaimed: with
  std::uint32_t unit_next = 0;    ///< unit_next the deadline; else ring of the unit's entries
  std::uint32_t tenant_tier = 0;  ///< tenant << 8 | tier; shard only
};
static_assert(sizeof(Entry) == 64);

inline constexpr std::uint32_t kChildrenMax = (1U << 24) - 1;
inline constexpr std::uint32_t kUsesMax = 255;

/// Blocks that named this one as their parent, those that are ghosts now included; saturates.
inline std::uint32_t children_of(const Entry& entry) {
  return entry.lineage.load(std::memory_order_relaxed) & kChildrenMax;
}
/// State, leases and generation at one moment.
inline EntryWord word_of(const Entry& entry) {
  return EntryWord::unpack(entry.word.load(std::memory_order_acquire));
}
/// Requests that referenced this block, also while it was a ghost; saturates.
inline std::uint32_t uses_of(const Entry& entry) {
  return entry.lineage.load(std::memory_order_relaxed) >> 24;
}
inline void set_lineage(Entry& entry, std::uint32_t uses, std::uint32_t children) {
  entry.lineage.store(std::min(uses, kUsesMax) << 24 | std::min(children, kChildrenMax),
                      std::memory_order_relaxed);
}

/// The block has an expiry: its header says when.
inline constexpr std::uint32_t kExpiresBit = 1U << 31;
static_assert(limits::kBlockBytesMax.count < kExpiresBit);
inline std::uint32_t length_of(const Entry& entry) {
  return entry.length.load(std::memory_order_relaxed) & ~kExpiresBit;
}
inline bool expires(const Entry& entry) {
  return (entry.length.load(std::memory_order_relaxed) & kExpiresBit) != 0;
}
inline void set_length(Entry& entry, std::uint32_t length, bool expires) {
  entry.length.store(length | (expires ? kExpiresBit : 0), std::memory_order_relaxed);
}

inline SlotRef unpack_slot(std::uint64_t slot) {
  return {SlabId(static_cast<std::uint32_t>(slot >> 32)), static_cast<std::uint32_t>(slot)};
}
inline std::uint64_t pack_slot(const SlotRef& slot) {
  return static_cast<std::uint64_t>(slot.slab.value()) << 32 | slot.slot;
}

/// A reader's hold on an entry. Plain value: whoever has it must give it back with
/// Index::release(), from any thread.
struct Hold {
  EntryId entry;
  SlotRef slot;
  Bytes length;
};

/// One shard's blocks by key: single writer (the shard), many readers (io threads), no lock.
///
/// A hash table of 4-byte slots (25 bits entry, 7 bits tag), linear probing, over a growing array
/// of type-stable entries. It grows incrementally over two tables, a bounded number of slots a
/// write. Readers must be registered with the QuiescenceDomain: an unlinked entry is reused, and an
/// old table freed, only when every reader has passed a quiescent point. Memory: 68 bytes an entry
/// plus 4.6 to 12.8 of table, 8 at 1 M blocks.
///
/// A ghost is the entry of an evicted block: found by its key, never leased; what is remembered of
/// it (uses, children, last use) serves the request context.
class Index {
 public:
  /// `domain` outlives the index.
  explicit Index(QuiescenceDomain& domain);
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // -- readers: any thread registered with the domain ------------------------------------------

  /// The entry of `key` in whatever state, or kNoEntry. Neither leases nor promises that the entry
  /// still has this key when the caller looks.
  EntryId find(const BlockKey& key) const;
  /// The same for many keys, with the cache misses overlapped. `out.size() == keys.size()`.
  void find_many(std::span<const BlockKey> keys, std::span<EntryId> out) const;
  const Entry& entry(EntryId id) const;
  /// When a request last referenced the block.
  UseTick last_use(EntryId id) const;
  /// Leases first, then re-checks key and state: nothing unless the entry is a committed block of
  /// `key`. Callable without a mailbox; never blocks.
  std::optional<Hold> lease(EntryId id, const BlockKey& key);
  /// Gives one lease back. The caller had it.
  void release(EntryId id);
  /// kFilling -> kCommitted by whoever filled the slot; false when `generation` is not the entry's
  /// any more (the reservation was taken back).
  bool commit(EntryId id, std::uint64_t generation);

  // -- the shard alone ---------------------------------------------------------------------------

  /// A new entry in `state` (kFilling, kClaimed or kGhost), visible at once. `key` must be absent.
  /// RESOURCE_EXHAUSTED at limits::kEntriesPerShardMax.
  absl::StatusOr<EntryId> insert(const BlockKey& key, EntryState state);
  Entry& mutable_entry(EntryId id);
  void set_last_use(EntryId id, UseTick at);
  /// An evicted entry (kFree, still linked, no leases) stays as a ghost.
  void make_ghost(EntryId id);
  /// A ghost is reserved or claimed again: the entry keeps what is remembered.
  void revive(EntryId id, EntryState state);
  /// Takes the entry out of the table. Its memory is reused after free_entry().
  void unlink(EntryId id);
  /// Of an unlinked entry with no lease: bumps its generation and recycles it after a grace period.
  void free_entry(EntryId id);
  /// Grows and recycles a bounded amount. Called by the shard on every batch and tick.
  void maintain();
  /// Entries ever allocated: ids run from 0 to below this (iteration by the shard, time-sliced).
  std::uint32_t entry_limit() const;
  /// Entries in the table, ghosts included.
  std::uint64_t size() const;
  std::uint64_t ghosts() const { return ghosts_.load(std::memory_order_relaxed); }
  Bytes memory() const;

 private:
  static constexpr std::uint32_t kChunkBits = 15;  ///< a huge page of entries
  static constexpr std::uint32_t kChunkEntries = 1U << kChunkBits;
  static constexpr std::uint32_t kChunksMax = limits::kEntriesPerShardMax / kChunkEntries;

  using UseTicks = std::array<std::atomic<std::uint32_t>, kChunkEntries>;

  /// What readers walk: published as one pointer, so that the pair is always consistent. Keys of
  /// `old` stay in it until it is retired.
  struct Tables {
    SlotTable* current = nullptr;
    SlotTable* old = nullptr;
  };
  struct Batch {
    Epoch epoch;
    std::vector<EntryId> entries;
    std::unique_ptr<SlotTable> table;
    std::unique_ptr<Tables> tables;
  };

  bool has_key(EntryId id, const BlockKey& key) const;
  EntryId find_in(const SlotTable& table, std::uint64_t position, const BlockKey& key) const;
  EntryId probe(const Tables& tables, std::uint64_t position, const BlockKey& key) const;
  absl::StatusOr<EntryId> take_entry();
  std::uint64_t position_of(std::uint64_t ns, std::uint64_t high, std::uint64_t low,
                            std::uint32_t group_rank) const;
  std::uint64_t position_of(const BlockKey& key) const;
  std::uint64_t position_of(EntryId id) const;
  void publish(SlotTable* current, SlotTable* old);
  void grow_if_full();
  std::uint32_t next_bits() const;
  void make_next(std::uint32_t bits);
  void prepare_next();
  void migrate(std::uint32_t slots);
  void recycle();

  QuiescenceDomain& domain_;
  const std::array<std::uint64_t, 3> seed_;  ///< secrets of position_of()
  std::atomic<Tables*> tables_{nullptr};
  std::unique_ptr<std::array<std::atomic<Entry*>, kChunksMax>> chunks_;
  std::unique_ptr<std::array<std::atomic<UseTicks*>, kChunksMax>> use_chunks_;
  std::atomic<std::uint32_t> entry_limit_{0};
  std::atomic<std::uint64_t> size_{0};
  std::atomic<std::uint64_t> ghosts_{0};
  std::atomic<std::uint64_t> memory_{0};
  // The shard alone:
  std::unique_ptr<SlotTable> current_;
  std::unique_ptr<SlotTable> old_;
  std::unique_ptr<SlotTable> next_;  ///< null, or being prepared
  std::unique_ptr<Tables> published_;
  std::uint32_t migrated_ = 0;  ///< slots of `old_` looked at
  std::vector<std::unique_ptr<HugeMemory>> chunk_memory_;
  std::vector<std::unique_ptr<UseTicks>> use_memory_;
  std::deque<EntryId> free_;             ///< grows without being moved
  Batch open_batch_;                     ///< taken out of sight since the last advance
  std::deque<Batch> waiting_;            ///< in order of epoch
  std::unique_ptr<SlotTable> draining_;  ///< no reader left; given back a slice at a time
};

}  // namespace larder
