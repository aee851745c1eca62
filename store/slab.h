#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "store/slot_header.h"
#include "store/types.h"

namespace larder {

/// A file mapped whole, shared and writable, kept out of core dumps. Unmaps and closes when
/// destroyed. Move-only.
class MappedFile {
 public:
  /// Makes `path` anew, allocates its memory (in huge pages as far as the kernel has them) and maps
  /// it. RESOURCE_EXHAUSTED naming the path, what it needs and what is free; other errors by errno.
  /// Nothing is left behind on failure. Blocks.
  static absl::StatusOr<MappedFile> make(const std::string& path, Bytes length);
  /// Maps an existing file of exactly `length`; DATA_LOSS when it has another, is missing, or is no
  /// file; other errors say nothing about the file.
  static absl::StatusOr<MappedFile> open(const std::string& path, Bytes length);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::byte* data() const { return data_; }
  Bytes length() const { return length_; }
  /// Keeps the mapping, not the descriptor: punch() cannot be called any more.
  void close_descriptor();
  /// Gives the file's blocks back at once, also those that others have mapped.
  absl::Status punch() const;

 private:
  MappedFile(int fd, std::byte* data, Bytes length) : fd_(fd), data_(data), length_(length) {}
  static absl::StatusOr<MappedFile> map(int fd, const std::string& path, Bytes length);
  static absl::StatusOr<MappedFile> allocate(int fd, const std::string& path, Bytes length);

  int fd_ = -1;
  std::byte* data_ = nullptr;
  Bytes length_;
};

/// First page of a slab's header file: what the slab is. Little endian, as on disk. Magic, version
/// and checksum stand at the same places in every version.
struct SlabFileHeader {
  static constexpr std::uint64_t kMagic = 0x3142414c53445241;  // "ARDSLAB1" little endian
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kTenantNameMax = 255;

  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t id;
  std::uint64_t slot_bytes;
  std::uint32_t slots;
  std::uint32_t tenant_length;
  char tenant[256];
  std::uint64_t checksum;  ///< XXH3-64 of every byte above
};

/// Sizes of files that are mapped.
inline constexpr std::uint64_t round_up_to_page(std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

/// A piece of the node's memory cut into slots of one size for one tenant: `slab-<id>.data` holds
/// payload alone, `slab-<id>.hdr` one page that describes the slab and then its SlotHeaders.
///
/// Owns both mappings, not the files' names (SlabStore does). The accessors are for any thread; who
/// may write a slot is the shards' business.
class Slab {
 public:
  /// Paths of a slab's two files.
  static std::string data_path(const std::string& dir, SlabId id);
  static std::string header_path(const std::string& dir, SlabId id);

  struct Shape {
    SlabId id;
    TenantId tenant;
    std::string tenant_name;
    Bytes slot_bytes;
    std::uint32_t slots = 0;
  };
  /// Makes both files; the header file gets its name last, so that a name means a whole slab.
  static absl::StatusOr<std::unique_ptr<Slab>> make(const std::string& dir, Shape shape);
  /// Maps both files of a former run. `shape.tenant` is not filled in. DATA_LOSS when they are
  /// damaged; FAILED_PRECONDITION naming the file and the remedy when they are of another version;
  /// other errors (no descriptor, no memory) say nothing about them.
  static absl::StatusOr<std::unique_ptr<Slab>> open(const std::string& dir, SlabId id);

  SlabId id() const { return shape_.id; }
  TenantId tenant() const { return shape_.tenant; }
  void set_tenant(TenantId tenant) { shape_.tenant = tenant; }
  const std::string& tenant_name() const { return shape_.tenant_name; }
  Bytes slot_bytes() const { return shape_.slot_bytes; }
  std::uint32_t slots() const { return shape_.slots; }
  /// Bytes of its slots; the data file has these, rounded up to pages.
  Bytes bytes() const { return shape_.slot_bytes * shape_.slots; }
  Bytes header_bytes() const { return headers_.length(); }

  std::byte* data(std::uint32_t slot) const {
    return data_.data() + std::uint64_t{slot} * shape_.slot_bytes.count;
  }
  SlotHeader* header(std::uint32_t slot) const {
    return reinterpret_cast<SlotHeader*>(headers_.data() + kSlotHeadersOffset) + slot;
  }
  /// Raises every slot's generation: no reader's bytes are valid any more.
  void raise_generations();
  /// Gives the memory back while the mapping stays.
  absl::Status punch() const;

 private:
  Slab(Shape shape, MappedFile data, MappedFile headers);

  Shape shape_;
  MappedFile data_;
  MappedFile headers_;
};

}  // namespace larder
