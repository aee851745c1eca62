#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "store/types.h"
#include "transport/mapping.h"
#include "transport/socket.h"

namespace larder {

/// A client's registered memory, mapped read-only by the server.
///
/// Owns the mapping (not the descriptor: it is closed once mapped). Move-only. The client may
/// still punch holes: copy from it with copy_guarded() alone.
class RegionMap {
 public:
  /// `fd` must be a memfd of ordinary pages, sealed against shrinking, of at least `bytes`, and
  /// `bytes` within `limit`. INVALID_ARGUMENT or RESOURCE_EXHAUSTED naming field, value and limit.
  static absl::StatusOr<RegionMap> map(const Fd& fd, Bytes bytes, Bytes limit);

  /// Nothing when the range is not inside the region.
  const std::byte* at(std::uint64_t offset, std::uint64_t length) const {
    if (offset > memory_.size() || length > memory_.size() - offset) return nullptr;
    return memory_.data() + offset;
  }
  Bytes size() const { return {memory_.size()}; }

 private:
  explicit RegionMap(Mapping memory) : memory_(std::move(memory)) {}
  Mapping memory_;
};

}  // namespace larder
