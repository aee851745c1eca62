#pragma once

#include <cstdint>

namespace larder {

/// kFree --insert--> kClaimed (someone computes it; no slot) --reserve--> kFilling
/// kFree --insert--> kFilling --commit (io thread)--> kCommitted --evict (CAS at 0 leases)--> kFree
/// kFilling --abort--> kFree        kCommitted --remove--> kRemoved --last lease--> kFree
/// kCommitted --evict--> kGhost (no bytes; remembered for the request context) --forgotten--> kFree
/// kFree, kClaimed --refused--> kGhost
/// kGhost --reserve--> kFilling      kGhost --claim--> kClaimed --ended--> kGhost
enum class EntryState : std::uint8_t {
  kFree = 0,
  kClaimed,
  kFilling,
  kCommitted,
  kRemoved,
  kGhost
};

/// State (3 bits), leases (20 bits) and generation (41 bits) in one 64-bit atomic, so that a lease,
/// an eviction and a commit each are one compare-and-swap.
struct EntryWord {
  static constexpr int kLeaseShift = 3;
  static constexpr int kGenerationShift = 23;
  static constexpr std::uint64_t kLeaseOne = 1ULL << kLeaseShift;
  static constexpr std::uint64_t kLeasesMax = (1ULL << 20) - 1;

  EntryState state = EntryState::kFree;
  std::uint64_t leases = 0;
  std::uint64_t generation = 0;

  static constexpr EntryWord unpack(std::uint64_t word) {
    return {static_cast<EntryState>(word & 7U), (word >> kLeaseShift) & kLeasesMax,
            word >> kGenerationShift};
  }
  constexpr std::uint64_t pack() const {
    return static_cast<std::uint64_t>(state) | leases << kLeaseShift |
           generation << kGenerationShift;
  }
};

}  // namespace larder
