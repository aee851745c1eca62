#include "actors/session_regions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/limits.h"

namespace larder {

absl::Status RegionBook::add(std::uint32_t region, const Fd& fd, Bytes bytes) {
  if (region == wire::PutSource::kAttach || region == wire::PutSource::kStream) {
    return absl::InvalidArgumentError(
        fmt::format("region {}: is no memory of its own; the highest is {}", region,
                    std::min(wire::PutSource::kAttach, wire::PutSource::kStream) - 1));
  }
  if (regions_.contains(region)) {
    return absl::AlreadyExistsError(fmt::format("region {} is registered", region));
  }
  if (regions_.size() >= limits::kSessionRegionsMax) {
    return absl::ResourceExhaustedError(fmt::format("region {}: {} are registered, the limit is {}",
                                                    region, regions_.size(),
                                                    limits::kSessionRegionsMax));
  }
  // Taken before it is mapped: io threads register at the same time.
  if (!node_.take(*tenant_, Common::kRegions, 1)) {
    return absl::ResourceExhaustedError(
        fmt::format("region {}: {}", region, node_.why_not(*tenant_, Common::kRegions)));
  }
  auto mapped = RegionMap::map(fd, bytes, Bytes{limits::kSessionRegionBytesMax.count - *bytes_});
  if (!mapped.ok()) {
    node_.commons.give(*tenant_, Common::kRegions, 1);
    return mapped.status();
  }
  const auto discount = [bytes = bytes_, &node = node_, tenant = tenant_](const RegionMap* map) {
    *bytes -= map->size().count;
    delete map;
    node.commons.give(*tenant, Common::kRegions, 1);
  };
  *bytes_ += mapped->size().count;
  regions_.emplace(region, RegionRef(new RegionMap(*std::move(mapped)), discount));
  return absl::OkStatus();
}

absl::Status RegionBook::remove(std::uint32_t region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    return absl::NotFoundError(fmt::format("region {} is not registered", region));
  }
  regions_.erase(found);
  return absl::OkStatus();
}

RegionRef RegionBook::find(std::uint32_t region) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : found->second;
}

void HeldRegions::hold(const RegionBook& book, std::span<const wire::PutSource> sources) {
  for (const wire::PutSource& source : sources) {
    if (regions_.contains(source.region)) continue;
    if (RegionRef found = book.find(source.region)) regions_.emplace(source.region, found);
  }
}

const std::byte* HeldRegions::at(std::uint32_t region, std::uint64_t offset,
                                 std::uint64_t length) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : found->second->at(offset, length);
}

}  // namespace larder
