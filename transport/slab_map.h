#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "store/types.h"
#include "transport/mapping.h"
#include "transport/socket.h"

namespace larder {

/// One slab of the daemon as a client maps it, read-only: data and headers.
///
/// Owns both mappings; shared by the copies and views that read from it. Copy from it with
/// copy_guarded(): the daemon may punch holes. Immutable; any thread.
class SlabMap {
 public:
  struct Shape {
    SlabId id;
    Bytes bytes;  ///< of the data file
    Bytes slot_bytes;
    std::uint32_t slots = 0;
    Bytes header_bytes;  ///< of the header file
  };

  /// INVALID_ARGUMENT when the files are shorter than the shape says.
  static absl::StatusOr<SlabMap> map(const Shape& shape, const Fd& data, const Fd& headers);

  /// Nothing when the range is not inside the slab.
  const std::byte* at(std::uint64_t offset, std::uint64_t length) const {
    if (offset > data_.size() || length > data_.size() - offset) return nullptr;
    return data_.data() + offset;
  }
  /// Of the slot now (acquire); nothing when there is no such slot or the file went away.
  std::optional<std::uint64_t> generation(std::uint32_t slot) const;
  const Shape& shape() const { return shape_; }

 private:
  SlabMap(const Shape& shape, Mapping data, Mapping headers)
      : shape_(shape), data_(std::move(data)), headers_(std::move(headers)) {}
  Shape shape_;
  Mapping data_;
  Mapping headers_;
};

}  // namespace larder
