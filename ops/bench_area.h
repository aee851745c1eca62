#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace larder {

/// Memory for a benchmark, touched before use so that no page fault is measured. Private pages, or
/// shared ones, of 4 KiB each; or shared huge ones, as slabs have them.
class BenchArea {
 public:
  enum class Pages : unsigned char { kPrivate, kShared, kSharedHuge };
  /// RESOURCE_EXHAUSTED.
  static absl::StatusOr<BenchArea> make(std::size_t bytes, Pages pages);
  BenchArea() = default;
  BenchArea(BenchArea&& other) noexcept;
  BenchArea& operator=(BenchArea&& other) noexcept;
  ~BenchArea();

  std::span<std::byte> bytes() const { return bytes_; }

  /// Most of the mapping that holds these bytes stands on pages of 2 MiB (or 1 GiB).
  static bool is_huge(std::span<const std::byte> bytes);

 private:
  std::span<std::byte> bytes_;
};

}  // namespace larder
