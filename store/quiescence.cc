#include "store/quiescence.h"

#include <utility>

#include <fmt/format.h>

#include "store/assert.h"

namespace larder {

QuiescenceDomain::Reader::Reader(Reader&& other) noexcept
    : domain_(std::exchange(other.domain_, nullptr)), slot_(other.slot_) {}

QuiescenceDomain::Reader& QuiescenceDomain::Reader::operator=(Reader&& other) noexcept {
  std::swap(domain_, other.domain_);
  std::swap(slot_, other.slot_);
  return *this;
}

QuiescenceDomain::Reader::~Reader() {
  if (domain_ == nullptr) return;
  Slot& slot = domain_->slots_[slot_];
  slot.seen.store(kOffline, std::memory_order_release);
  slot.used.store(false, std::memory_order_release);
}

void QuiescenceDomain::Reader::quiescent() {
  // Release: the reads before this point are done when a writer sees the new epoch. Acquire: the
  // reads after it see what was taken out of sight before that epoch opened.
  domain_->slots_[slot_].seen.store(domain_->epoch_.load(std::memory_order_acquire),
                                    std::memory_order_release);
}

void QuiescenceDomain::Reader::offline() {
  domain_->slots_[slot_].seen.store(kOffline, std::memory_order_release);
}

void QuiescenceDomain::Reader::online() {
  domain_->go_online(domain_->slots_[slot_]);
}

void QuiescenceDomain::go_online(Slot& slot) {
  // A writer that scanned the slot while it was offline opened its epoch before the store below in
  // the one order of sequentially consistent operations: the load after the store sees that epoch.
  std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
  for (;;) {
    slot.seen.store(epoch, std::memory_order_seq_cst);
    const std::uint64_t again = epoch_.load(std::memory_order_seq_cst);
    if (again == epoch) return;
    epoch = again;
  }
}

absl::StatusOr<QuiescenceDomain::Reader> QuiescenceDomain::register_reader() {
  for (std::uint32_t i = 0; i < kReadersMax; ++i) {
    bool used = false;
    if (!slots_[i].used.compare_exchange_strong(used, true, std::memory_order_acq_rel)) continue;
    go_online(slots_[i]);
    return Reader(this, i);
  }
  return absl::ResourceExhaustedError(
      fmt::format("more than {} threads want to read the index", kReadersMax));
}

Epoch QuiescenceDomain::advance() {
  return Epoch(epoch_.fetch_add(1, std::memory_order_seq_cst) + 1);
}

bool QuiescenceDomain::passed(Epoch epoch) const {
  LARDER_ASSERT(epoch.value() <= epoch_.load(std::memory_order_relaxed));
  for (const Slot& slot : slots_) {
    if (slot.seen.load(std::memory_order_seq_cst) < epoch.value()) return false;
  }
  return true;
}

}  // namespace larder
