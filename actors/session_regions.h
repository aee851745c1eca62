#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

#include "transport/region_map.h"
#include "transport/socket.h"

namespace larder {

/// The memory that one session registered, mapped read-only here. One io thread.
class RegionBook {
 public:
  /// Maps `fd` under the client's number; errors name the field and the limit.
  absl::Status add(std::uint32_t region, const Fd& fd, Bytes bytes);
  /// NOT_FOUND when this session has no such region.
  absl::Status remove(std::uint32_t region);
  /// Null when the range is not inside a region of this session. Valid until remove().
  /// `keep`, even past remove().
  const std::byte* at(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const;

 private:
  absl::flat_hash_map<std::uint32_t, RegionMap> regions_;
  std::uint64_t bytes_ = 0;
};

}  // namespace larder
