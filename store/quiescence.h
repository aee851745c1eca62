#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"

#include "store/types.h"

namespace larder {

/// A point in the order of retirements of one QuiescenceDomain.
using Epoch = Id<struct EpochTag, std::uint64_t>;

/// Tells writers when no reader can still see what they took out of sight: a reader that has passed
/// a quiescent point holds no reference from before it.
///
/// Owns nothing that is retired: a writer keeps it with the Epoch that advance() gave, and reuses
/// or frees it when passed() says so. Every method is lock-free; writers (shards) and readers (io
/// threads) are any threads, a Reader is used by one thread at a time. A reader that neither passes
/// points nor goes offline stops all reclamation: go offline before sleeping.
class QuiescenceDomain {
 public:
  static constexpr std::uint32_t kReadersMax = 128;

  /// A registered reader. Online from the start; deregisters when destroyed. Move-only.
  class Reader {
   public:
    Reader() = default;
    Reader(Reader&& other) noexcept;
    Reader& operator=(Reader&& other) noexcept;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();

    /// The caller holds nothing it found in an index before. Two loads and a store.
    void quiescent();
    /// Until online(), the caller reads no index; it stops no reclamation meanwhile.
    void offline();
    void online();

   private:
    friend class QuiescenceDomain;
    Reader(QuiescenceDomain* domain, std::uint32_t slot) : domain_(domain), slot_(slot) {}
    QuiescenceDomain* domain_ = nullptr;
    std::uint32_t slot_ = 0;
  };

  QuiescenceDomain() = default;
  QuiescenceDomain(const QuiescenceDomain&) = delete;
  QuiescenceDomain& operator=(const QuiescenceDomain&) = delete;

  /// RESOURCE_EXHAUSTED beyond kReadersMax.
  absl::StatusOr<Reader> register_reader();

  /// Opens a new epoch. What the caller took out of sight before the call may be reused once
  /// passed() is true for the result.
  Epoch advance();
  /// True when every online reader has been quiescent since `epoch` opened. O(readers).
  bool passed(Epoch epoch) const;

 private:
  static constexpr std::uint64_t kOffline = ~0ULL;
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> seen{kOffline};  ///< newest epoch the reader has seen, or kOffline
    std::atomic<bool> used{false};
  };

  void go_online(Slot& slot);

  std::atomic<std::uint64_t> epoch_{1};
  std::array<Slot, kReadersMax> slots_;
};

}  // namespace larder
