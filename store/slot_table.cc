#include "store/slot_table.h"

#include <algorithm>

#include "store/assert.h"

namespace larder {

SlotTable::SlotTable(std::uint32_t bits)
    : mask_((1U << bits) - 1),
      memory_(memory()),
      slots_(reinterpret_cast<std::atomic<std::uint32_t>*>(memory_.data())) {}

void SlotTable::place(std::uint64_t hash, EntryId id) {
  LARDER_ASSERT(id.value() < kEntriesMax);
  LARDER_ASSERT(live_ < mask_);
  std::uint32_t at = home(hash);
  for (;;) {
    const std::uint32_t slot = slots_[at].load(std::memory_order_relaxed);
    if (!names_entry(slot)) {
      if (slot == kTombstone) tombstones_ -= 1;
      break;
    }
    at = next(at);
  }
  live_ += 1;
  // Release: whoever finds the entry sees its key.
  slots_[at].store(pack(hash, id), std::memory_order_release);
}

bool SlotTable::remove(std::uint64_t hash, EntryId id) {
  const std::uint32_t wanted = pack(hash, id);
  std::uint32_t at = home(hash);
  for (std::uint32_t slot = 0; (slot = slots_[at].load(std::memory_order_relaxed)) != wanted;) {
    if (slot == kEmpty) return false;
    at = next(at);
  }
  live_ -= 1;
  tombstones_ += 1;
  slots_[at].store(kTombstone, std::memory_order_release);
  // No search goes on past an empty slot, so tombstones just before one can be empty too.
  if (slots_[next(at)].load(std::memory_order_relaxed) != kEmpty) return true;
  while (slots_[at].load(std::memory_order_relaxed) == kTombstone) {
    tombstones_ -= 1;
    slots_[at].store(kEmpty, std::memory_order_release);
    at = (at - 1) & mask_;
  }
  return true;
}

void SlotTable::prepare(Bytes bytes) {
  constexpr std::uint64_t kPage = 4 << 10;
  const std::uint64_t end = std::min(prepared_ + bytes.count, memory().count);
  for (std::uint64_t page = (prepared_ + kPage - 1) / kPage; page * kPage < end; ++page) {
    slots_[page * kPage / sizeof(std::uint32_t)].store(kEmpty, std::memory_order_relaxed);
  }
  prepared_ = end;
}

bool SlotTable::drain(Bytes bytes) {
  const std::uint64_t slice = std::min(bytes.count, memory().count - drained_);
  memory_.give_back(drained_, {slice});
  drained_ += slice;
  return drained_ == memory().count;
}

}  // namespace larder
