#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace larder {

/// Memory for a benchmark, touched before use so that no page fault is measured. Shared pages
/// (memfd, as slabs are) or private ones, 4 KiB each in both cases.
class BenchArea {
 public:
  enum class Pages : unsigned char { kPrivate, kShared };
  /// RESOURCE_EXHAUSTED.
  static absl::StatusOr<BenchArea> make(std::size_t bytes, Pages pages);
  BenchArea() = default;
  BenchArea(BenchArea&& other) noexcept;
  BenchArea& operator=(BenchArea&& other) noexcept;
  ~BenchArea();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace larder
