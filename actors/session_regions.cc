#include "actors/session_regions.h"

#include <utility>

#include <fmt/format.h>

#include "store/limits.h"

namespace larder {

absl::Status RegionBook::add(std::uint32_t region, const Fd& fd, Bytes bytes) {
  if (regions_.contains(region)) {
    return absl::AlreadyExistsError(fmt::format("region {} is registered", region));
  }
  if (regions_.size() >= limits::kSessionRegionsMax) {
    return absl::ResourceExhaustedError(fmt::format("region {}: {} are registered, the limit is {}",
                                                    region, regions_.size(),
                                                    limits::kSessionRegionsMax));
  }
  auto mapped = RegionMap::map(fd, bytes, Bytes{limits::kSessionRegionBytesMax.count - bytes_});
  if (!mapped.ok()) return mapped.status();
  bytes_ += mapped->size().count;
  regions_.emplace(region, *std::move(mapped));
  return absl::OkStatus();
}

absl::Status RegionBook::remove(std::uint32_t region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    return absl::NotFoundError(fmt::format("region {} is not registered", region));
  }
  bytes_ -= found->second.size().count;
  regions_.erase(found);
  return absl::OkStatus();
}

const std::byte* RegionBook::at(std::uint32_t region, std::uint64_t offset,
                                std::uint64_t length) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : found->second.at(offset, length);
}

}  // namespace larder
