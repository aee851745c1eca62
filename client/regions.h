#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "store/types.h"
#include "transport/mapping.h"
#include "transport/socket.h"

namespace larder {

/// Shared memory that the daemon maps too: one memfd under the client's own number.
struct Region {
  std::uint32_t number = 0;
  Fd memfd;
  Mapping owned;  ///< empty when the caller mapped it
  std::byte* base = nullptr;
  std::size_t size = 0;
};

/// The regions of a client, found by address. Survives reconnects. Not thread-safe: the engine's
/// lock holds it.
class RegionTable {
 public:
  struct Place {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
  };

  /// A new sealed memfd of `bytes`, mapped. Not in the table yet.
  absl::StatusOr<Region> make(Bytes bytes);
  /// The caller's own memfd (duplicated). INVALID_ARGUMENT when it is not sealed against shrinking
  /// or shorter than the memory.
  absl::StatusOr<Region> adopt(int memfd, std::byte* base, std::size_t size);

  /// ALREADY_EXISTS when it overlaps another one.
  absl::Status add(Region region);
  std::optional<Region> take(const std::byte* base);
  const Region* by_base(const std::byte* base) const;
  /// Where [data, data + length) stands, when it is inside one region.
  std::optional<Place> find(const void* data, std::size_t length) const;

  std::uint32_t next_number() { return ++last_number_; }
  const std::map<const std::byte*, Region>& all() const { return by_base_; }

 private:
  std::map<const std::byte*, Region> by_base_;
  std::uint32_t last_number_ = 0;
};

/// Memory through which puts travel whose own cannot be read by the daemon: one sealed memfd,
/// handed out first-fit from the front, so that only as much of it is ever resident as was needed
/// at once. Not thread-safe.
class Staging {
 public:
  static constexpr std::size_t kBytesMax = 64 << 20;

  /// Creates the memory at the first use.
  absl::Status ensure(RegionTable& numbers);
  bool made() const { return region_.base != nullptr; }
  const Region& region() const { return region_; }

  /// Offset of `bytes` (≤ kBytesMax), or nothing when they do not fit now.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  void free(std::uint64_t offset, std::uint64_t bytes);
  /// True once after something was freed.
  bool take_freed() { return std::exchange(freed_, false); }

 private:
  Region region_;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< offset -> bytes, never adjacent
  bool freed_ = false;
};

}  // namespace larder
