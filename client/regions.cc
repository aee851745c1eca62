#include "client/regions.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "store/assert.h"
#include "store/status_macros.h"
#include "transport/control_page.h"

namespace larder {
namespace {

constexpr std::uint64_t kStagingAlign = 4096;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kStagingAlign - 1) / kStagingAlign * kStagingAlign;
}

}  // namespace

absl::StatusOr<Region> RegionTable::make(Bytes bytes) {
  if (bytes.count == 0) return absl::InvalidArgumentError("region: bytes is 0, at least 1 needed");
  Region region;
  LARDER_ASSIGN_OR_RETURN(region.memfd, make_sealed_memfd("larder-region", bytes));
  region.owned = Mapping(region.memfd.get(), bytes.count, PROT_READ | PROT_WRITE);
  if (!region.owned.valid()) {
    return errno_status(absl::StatusCode::kResourceExhausted,
                        fmt::format("mapping a region of {} bytes", bytes.count), errno);
  }
  region.base = region.owned.data();
  region.size = bytes.count;
  region.number = next_number();
  return region;
}

absl::StatusOr<Region> RegionTable::adopt(int memfd, std::byte* base, std::size_t size) {
  const int seals = fcntl(memfd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(
        fmt::format("region: descriptor {} is not a memfd with F_SEAL_SHRINK", memfd));
  }
  struct stat info {};
  if (size == 0 || fstat(memfd, &info) != 0 || static_cast<std::uint64_t>(info.st_size) < size) {
    return absl::InvalidArgumentError(
        fmt::format("region: the memory has {} bytes, the memfd {}", size, info.st_size));
  }
  Region region;
  region.memfd = Fd(fcntl(memfd, F_DUPFD_CLOEXEC, 0));
  if (!region.memfd.valid()) {
    return errno_status(absl::StatusCode::kResourceExhausted, "duplicating a memfd", errno);
  }
  region.base = base;
  region.size = size;
  region.number = next_number();
  return region;
}

absl::Status RegionTable::add(Region region) {
  const auto after = by_base_.upper_bound(region.base);
  const bool hits_next = after != by_base_.end() && region.base + region.size > after->first;
  const bool hits_previous = after != by_base_.begin() && [&] {
    const Region& previous = std::prev(after)->second;
    return previous.base + previous.size > region.base;
  }();
  if (hits_next || hits_previous) {
    return absl::AlreadyExistsError("region: the memory overlaps a registered region");
  }
  const std::byte* base = region.base;
  by_base_.emplace(base, std::move(region));
  return absl::OkStatus();
}

std::optional<Region> RegionTable::take(const std::byte* base) {
  auto node = by_base_.extract(base);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

const Region* RegionTable::by_base(const std::byte* base) const {
  const auto at = by_base_.find(base);
  return at == by_base_.end() ? nullptr : &at->second;
}

std::optional<RegionTable::Place> RegionTable::find(const void* data, std::size_t length) const {
  const auto* begin = static_cast<const std::byte*>(data);
  auto at = by_base_.upper_bound(begin);
  if (at == by_base_.begin()) return std::nullopt;
  const Region& region = std::prev(at)->second;
  const auto offset = static_cast<std::uint64_t>(begin - region.base);
  if (offset > region.size || length > region.size - offset) return std::nullopt;
  return Place{region.number, offset};
}

absl::Status Staging::ensure(RegionTable& numbers) {
  if (made()) return absl::OkStatus();
  LARDER_ASSIGN_OR_RETURN(region_, numbers.make({kBytesMax}));
  free_.emplace(0, kBytesMax);
  return absl::OkStatus();
}

std::optional<std::uint64_t> Staging::allocate(std::uint64_t bytes) {
  const std::uint64_t need = aligned(bytes);
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second < need) continue;
    const auto [offset, size] = *at;
    free_.erase(at);
    if (size > need) free_.emplace(offset + need, size - need);
    return offset;
  }
  return std::nullopt;
}

void Staging::free(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t size = aligned(bytes);
  LARDER_ASSERT(offset + size <= kBytesMax);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  freed_ = true;
  if (next != free_.begin()) {
    auto& [before, length] = *std::prev(next);
    if (before + length == offset) {
      length += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

}  // namespace larder
