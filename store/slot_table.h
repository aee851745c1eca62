#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

// Aligned words are read whole, also four at once; ThreadSanitizer cannot know that.
#if defined(__SSE2__) && !defined(LARDER_SANITIZE_THREAD)
#define LARDER_SLOTS_AT_ONCE
#include <emmintrin.h>
#endif

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
  /// The first slot from a key's home on that has its tag, else kEmpty. Looks at eight at once
  /// where it can: how many there are is a matter of chance, which a branch would guess wrong.
  std::uint32_t find_tag(std::uint64_t hash) const {
    std::uint32_t at = home(hash);
#ifdef LARDER_SLOTS_AT_ONCE
    // Those of its cache line: the next line is another miss, and seldom needed.
    const std::uint32_t first = (at & ~(kLine - 1)) | std::min(at & (kLine - 1), kLine - kAtOnce);
    const std::uint32_t stops = stops_at_once(first, hash) >> (at - first);
    at = stops != 0 ? at + static_cast<std::uint32_t>(std::countr_zero(stops))
                    : (first + kAtOnce) & mask_;
#endif
    // What was seen above may be gone: only what is looked at here, once, is an answer.
    std::uint32_t slot = load(at);
    while (slot != kEmpty && !tag_matches(slot, hash)) {
      at = next(at);
      slot = load(at);
    }
    return slot;
  }
  void prefetch(std::uint64_t hash) const {
    __builtin_prefetch(&slots_[home(hash)]);
  }

  // -- the writer alone --------------------------------------------------------------------------
  /// Puts `id` into the first slot free for it. The table is not full.
  void place(std::uint64_t hash, EntryId id);
  /// Takes `id` out. False when it is not here.
  bool remove(std::uint64_t hash, EntryId id);
  std::uint32_t live() const {
    return live_;
  }
  std::uint32_t tombstones() const {
    return tombstones_;
  }
  /// Before its first use: has the kernel give memory for `bytes` more of it.
  void prepare(Bytes bytes);
  /// Every slot has been passed by a migration: see HugeMemory.
  void full() {
    memory_.full();
  }
  /// Gives up to `bytes` of memory back, from where the last call ended; true when all is given.
  bool drain(Bytes bytes);

 private:
  static std::uint32_t tag(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash) << kEntryBits;
  }

#ifdef LARDER_SLOTS_AT_ONCE
  static constexpr std::uint32_t kAtOnce = 8;
  static constexpr std::uint32_t kLine = 64 / sizeof(std::uint32_t);

  /// A bit for each of kAtOnce slots that is empty or has the tag.
  std::uint32_t stops_at_once(std::uint32_t at, std::uint64_t hash) const {
    const auto tags = _mm_set1_epi32(static_cast<int>(tag(hash)));
    const auto entries = _mm_set1_epi32(static_cast<int>(kEntryMask));
    const auto stops_of = [&](std::uint32_t first) {
      const auto four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&slots_[first]));
      const auto none = _mm_cmpeq_epi32(_mm_and_si128(four, entries), _mm_setzero_si128());
      const auto tagged = _mm_cmpeq_epi32(_mm_andnot_si128(entries, four), tags);
      const auto empty = _mm_cmpeq_epi32(four, _mm_setzero_si128());
      const auto stops = _mm_or_si128(empty, _mm_andnot_si128(none, tagged));
      return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(stops)));
    };
    return stops_of(at) | stops_of(at + 4) << 4;
  }
#endif

  std::uint32_t mask_;
  HugeMemory memory_;
  std::atomic<std::uint32_t>* slots_;
  std::uint32_t live_ = 0;
  std::uint32_t tombstones_ = 0;
  std::uint64_t prepared_ = 0;  ///< bytes
  std::uint64_t drained_ = 0;
};

}  // namespace larder
