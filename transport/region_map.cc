#include "transport/region_map.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "store/status_macros.h"

namespace larder {
namespace {

absl::Status check_kind(const Fd& fd) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0) {
    return absl::InvalidArgumentError(
        "region: the descriptor is not a memfd; other memory is attached or staged");
  }
  if ((seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(fmt::format(
        "region: seals are {:#x}, F_SEAL_SHRINK ({:#x}) is missing", seals, F_SEAL_SHRINK));
  }
  struct statfs system {};
  if (fstatfs(fd.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError(
        fmt::format("region: file system type is {:#x}, a memfd of ordinary pages has {:#x}",
                    static_cast<std::uint64_t>(system.f_type), TMPFS_MAGIC));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RegionMap> RegionMap::map(const Fd& fd, Bytes bytes, Bytes limit) {
  if (bytes.count == 0) return absl::InvalidArgumentError("region: bytes is 0, at least 1 needed");
  if (bytes > limit) {
    return absl::ResourceExhaustedError(
        fmt::format("region: bytes is {}, the limit is {}", bytes.count, limit.count));
  }
  LARDER_RETURN_IF_ERROR(check_kind(fd));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) < bytes.count) {
    return absl::InvalidArgumentError(
        fmt::format("region: bytes is {}, the memfd has {}", bytes.count, info.st_size));
  }
  Mapping memory(fd.get(), bytes.count, PROT_READ);
  if (!memory.valid()) {
    return errno_status(absl::StatusCode::kResourceExhausted,
                        fmt::format("mapping a region of {} bytes", bytes.count), errno);
  }
  return RegionMap(std::move(memory));
}

}  // namespace larder
