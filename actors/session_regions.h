#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

#include "actors/node_context.h"
#include "transport/records.h"
#include "transport/region_map.h"
#include "transport/socket.h"

namespace larder {

using RegionRef = std::shared_ptr<const RegionMap>;

/// The memory that one session registered, mapped read-only here until it is removed and no put
/// reads it any more: until then it counts as registered memory. One io thread.
class RegionBook {
 public:
  explicit RegionBook(NodeContext& node) : node_(node) {}
  /// Whose they are, before the first is added.
  void belong_to(TenantUse& tenant) { tenant_ = &tenant; }

  /// Maps `fd` under the client's number; errors name the field and the limit.
  absl::Status add(std::uint32_t region, const Fd& fd, Bytes bytes);
  /// The number is free at once. NOT_FOUND when there is no such region.
  absl::Status remove(std::uint32_t region);
  /// Null when there is no such region.
  RegionRef find(std::uint32_t region) const;
  /// Of all regions that are mapped, those that only puts hold included.
  std::uint64_t mapped_bytes() const { return *bytes_; }

 private:
  NodeContext& node_;
  TenantUse* tenant_ = nullptr;
  absl::flat_hash_map<std::uint32_t, RegionRef> regions_;
  std::shared_ptr<std::uint64_t> bytes_ = std::make_shared<std::uint64_t>(0);  ///< mapped
};

/// The regions that a put's sources name, as they were when it began: what its session unregisters
/// meanwhile stays readable until the put has ended.
class HeldRegions {
 public:
  /// Those that are registered now.
  void hold(const RegionBook& book, std::span<const wire::PutSource> sources);
  /// Null when the range is not inside a region that is held.
  const std::byte* at(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const;

 private:
  absl::flat_hash_map<std::uint32_t, RegionRef> regions_;
};

}  // namespace larder
