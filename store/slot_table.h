#pragma once

#include <atomic>
#include <cstdint>

#include "store/huge_memory.h"
#include "store/types.h"

namespace larder {

/// One linear-probing table of 4-byte slots: 25 bits name an entry, 7 bits are a tag of its key.
///
/// Knows no keys: the Index compares them. One writer, many readers; owns its memory, which is
/// mapped, so that a large table costs page by page as it fills. Never resized: the Index makes
/// another one.
class SlotTable {
 public:
  static constexpr std::uint32_t kEntryBits = 25;
  static constexpr std::uint32_t kEntryMask = (1U << kEntryBits) - 1;
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kTombstone = 1U << kEntryBits;  ///< entry bits zero, tag one
  /// Entries are stored plus one, so that zero is free for the two marks.
  static constexpr std::uint32_t kEntriesMax = kEntryMask;

  /// 2^`bits` slots. Aborts when the kernel gives no address space.
  explicit SlotTable(std::uint32_t bits);
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  std::uint32_t capacity() const { return mask_ + 1; }
  Bytes memory() const { return {(std::uint64_t{mask_} + 1) * sizeof(std::uint32_t)}; }
  std::uint32_t next(std::uint32_t at) const { return (at + 1) & mask_; }
  /// Slot where the search for a key with this hash starts.
  std::uint32_t home(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32) & mask_;
  }
  static std::uint32_t pack(std::uint64_t hash, EntryId id) { return tag(hash) | (id.value() + 1); }
  static bool names_entry(std::uint32_t slot) { return (slot & kEntryMask) != 0; }
  static EntryId entry_of(std::uint32_t slot) { return EntryId((slot & kEntryMask) - 1); }
  static bool tag_matches(std::uint32_t slot, std::uint64_t hash) {
    return names_entry(slot) && (slot & ~kEntryMask) == tag(hash);
  }

  std::uint32_t load(std::uint32_t at) const { return slots_[at].load(std::memory_order_acquire); }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[home(hash)]); }

  // -- the writer alone --------------------------------------------------------------------------
  /// Puts `id` into the first slot free for it. The table is not full.
  void place(std::uint64_t hash, EntryId id);
  /// Takes `id` out. False when it is not here.
  bool remove(std::uint64_t hash, EntryId id);
  std::uint32_t live() const { return live_; }
  std::uint32_t tombstones() const { return tombstones_; }
  /// Every slot has been passed by a migration: see HugeMemory.
  void full() { memory_.full(); }
  /// Gives up to `bytes` of memory back, from where the last call ended; true when all is given.
  bool drain(Bytes bytes);

 private:
  static std::uint32_t tag(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash) << kEntryBits;
  }

  std::uint32_t mask_;
  HugeMemory memory_;
  std::atomic<std::uint32_t>* slots_;
  std::uint32_t live_ = 0;
  std::uint32_t tombstones_ = 0;
  std::uint64_t drained_ = 0;
};

}  // namespace larder
