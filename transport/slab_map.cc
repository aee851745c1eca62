#include "transport/slab_map.h"

#include <cerrno>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "store/slot_header.h"
#include "store/status_macros.h"
#include "transport/guarded_copy.h"

namespace larder {
namespace {

absl::StatusOr<Mapping> map_file(const Fd& fd, Bytes bytes, const char* what, SlabId slab) {
  struct stat info {};
  if (bytes.count == 0 || fstat(fd.get(), &info) != 0 ||
      static_cast<std::uint64_t>(info.st_size) < bytes.count) {
    return absl::InvalidArgumentError(
        fmt::format("slab {}: {} said to be {} bytes, the file has {}", slab.value(), what,
                    bytes.count, info.st_size));
  }
  Mapping memory(fd.get(), bytes.count, PROT_READ);
  if (!memory.valid()) {
    return errno_status(absl::StatusCode::kResourceExhausted,
                        fmt::format("mapping {} of slab {}", what, slab.value()), errno);
  }
  return memory;
}

}  // namespace

absl::StatusOr<SlabMap> SlabMap::map(const Shape& shape, const Fd& data, const Fd& headers) {
  if (shape.header_bytes.count < kSlotHeadersOffset ||
      (shape.header_bytes.count - kSlotHeadersOffset) / sizeof(SlotHeader) < shape.slots) {
    return absl::InvalidArgumentError(fmt::format("slab {}: {} slots in {} bytes of headers",
                                                  shape.id.value(), shape.slots,
                                                  shape.header_bytes.count));
  }
  LARDER_ASSIGN_OR_RETURN(Mapping bytes, map_file(data, shape.bytes, "data", shape.id));
  LARDER_ASSIGN_OR_RETURN(Mapping heads,
                          map_file(headers, shape.header_bytes, "headers", shape.id));
  madvise(bytes.data(), bytes.size(), MADV_DONTDUMP);
  return SlabMap(shape, std::move(bytes), std::move(heads));
}

std::optional<std::uint64_t> SlabMap::generation(std::uint32_t slot) const {
  if (slot >= shape_.slots) return std::nullopt;
  const auto* header =
      reinterpret_cast<const SlotHeader*>(headers_.data() + kSlotHeadersOffset) + slot;
  return load_guarded(&header->generation);
}

}  // namespace larder
