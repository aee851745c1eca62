#include "store/slab.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/assert.h"
#include "store/huge_pages.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {

namespace {

constexpr std::uint64_t kSlotAlignment = 64;
constexpr mode_t kMode = 0600;

absl::Status error_of(const std::string& path, const char* act, int error) {
  return absl::ErrnoToStatus(error, fmt::format("{}: {}", path, act));
}

/// Of an existing file. What is not there, or is no file, is damage; anything else (no descriptor
/// or memory left, no right) says nothing about the file.
absl::Status open_error(const std::string& path, int error) {
  if (error == ENOENT || error == EISDIR || error == ELOOP || error == ENXIO) {
    return absl::DataLossError(fmt::format("{}: open: {}", path, std::strerror(error)));
  }
  if (error == EMFILE) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}: open: no descriptors left; each slab needs one, raise the limit (LimitNOFILE, ulimit "
        "-Hn)",
        path));
  }
  return error_of(path, "open", error);
}

/// A slab's file as it stands at a start: of this user, writable by nobody else and no link, or it
/// is damage: whoever else may write in it could change blocks under their readers.
absl::StatusOr<int> open_own(const std::string& path, int how) {
  // O_NONBLOCK: a pipe by that name must not stop the start.
  const int fd = ::open(path.c_str(), how | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return open_error(path, errno);
  struct stat info {};
  const bool ours = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() &&
                    (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (ours) return fd;
  ::close(fd);
  return absl::DataLossError(
      fmt::format("{}: of uid {} and mode {:o}: others could have written it", path, info.st_uid,
                  info.st_mode & 07777U));
}

absl::Status no_space(const std::string& path, Bytes need) {
  struct statvfs fs {};
  const std::uint64_t free = ::statvfs(path.c_str(), &fs) == 0 ? fs.f_bavail * fs.f_bsize : 0;
  return absl::ResourceExhaustedError(
      fmt::format("{}: needs {} bytes, {} are free there", path, need.count, free));
}

Bytes data_length(const Slab::Shape& shape) {
  return {round_up_to_page(shape.slot_bytes.count * shape.slots)};
}
Bytes headers_length(const Slab::Shape& shape) {
  return {round_up_to_page(kSlotHeadersOffset + sizeof(SlotHeader) * std::uint64_t{shape.slots})};
}

std::uint64_t checksum_of(const SlabFileHeader& header) {
  return XXH3_64bits(&header, offsetof(SlabFileHeader, checksum));
}

SlabFileHeader describe(const Slab::Shape& shape) {
  SlabFileHeader header{};
  header.magic = SlabFileHeader::kMagic;
  header.version = SlabFileHeader::kVersion;
  header.id = shape.id.value();
  header.slot_bytes = shape.slot_bytes.count;
  header.slots = shape.slots;
  header.tenant_length = static_cast<std::uint32_t>(shape.tenant_name.size());
  std::memcpy(header.tenant, shape.tenant_name.data(), shape.tenant_name.size());
  header.checksum = checksum_of(header);
  return header;
}

/// Whether a slab may have this shape: then no product of its numbers overflows, and a scan of its
/// slots ends.
bool has_known_shape(const SlabFileHeader& header) {
  if (header.slot_bytes < limits::kBlockBytesMin.count) return false;
  if (header.slot_bytes > limits::kBlockBytesMax.count) return false;
  if (header.slot_bytes % kSlotAlignment != 0) return false;
  const std::uint64_t fitting = limits::kSlabBytesMax.count / header.slot_bytes;
  return header.slots > 0 && header.slots <= std::max<std::uint64_t>(1, fitting);
}

absl::StatusOr<SlabFileHeader> read_file_header(const std::string& path) {
  LARDER_ASSIGN_OR_RETURN(const int fd, open_own(path, O_RDONLY));
  SlabFileHeader header{};
  const ssize_t got = ::pread(fd, &header, sizeof header, 0);
  ::close(fd);
  if (got != static_cast<ssize_t>(sizeof header) || header.magic != SlabFileHeader::kMagic) {
    return absl::DataLossError(fmt::format("{}: no slab header", path));
  }
  // First: every version has its checksum there, and a damaged version is not another one.
  if (header.checksum != checksum_of(header)) {
    return absl::DataLossError(fmt::format("{}: slab header damaged", path));
  }
  if (header.version != SlabFileHeader::kVersion) {
    return absl::FailedPreconditionError(
        fmt::format("{}: slab format version {}, this program knows {}: start the program that "
                    "wrote it, or remove the slab-* files of that directory (the cache is empty "
                    "then)",
                    path, header.version, SlabFileHeader::kVersion));
  }
  if (!has_known_shape(header) || header.tenant_length > SlabFileHeader::kTenantNameMax) {
    return absl::DataLossError(fmt::format("{}: slab header damaged", path));
  }
  return header;
}

}  // namespace

// -- MappedFile ----------------------------------------------------------------------------------

absl::StatusOr<MappedFile> MappedFile::map(int fd, const std::string& path, Bytes length) {
  void* data = map_at_huge_page(length, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  if (data == MAP_FAILED) {
    const int error = errno;
    ::close(fd);
    return error_of(path, "mmap", error);
  }
  ::madvise(data, length.count, MADV_DONTDUMP);
  return MappedFile(fd, static_cast<std::byte*>(data), length);
}

absl::StatusOr<MappedFile> MappedFile::make(const std::string& path, Bytes length) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (fd < 0) return error_of(path, "create", errno);
  absl::StatusOr<MappedFile> made = allocate(fd, path, length);
  if (!made.ok()) ::unlink(path.c_str());
  return made;
}

/// Owns `fd`. Huge pages first; every byte that has none of them gets a small one, or it fails.
absl::StatusOr<MappedFile> MappedFile::allocate(int fd, const std::string& path, Bytes length) {
  if (::ftruncate(fd, static_cast<off_t>(length.count)) != 0) {
    const int error = errno;
    ::close(fd);
    return error_of(path, "set the length of", error);
  }
  LARDER_ASSIGN_OR_RETURN(MappedFile mapped, map(fd, path, length));
  fill_with_huge_pages(fd, mapped.data(), length);
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(length.count));
  } while (error == EINTR);
  if (error == ENOSPC) return no_space(path, length);
  if (error != 0) return error_of(path, "allocate", error);
  return mapped;
}

absl::StatusOr<MappedFile> MappedFile::open(const std::string& path, Bytes length) {
  LARDER_ASSIGN_OR_RETURN(const int fd, open_own(path, O_RDWR));
  struct stat stat {};
  if (::fstat(fd, &stat) != 0 || static_cast<std::uint64_t>(stat.st_size) != length.count) {
    ::close(fd);
    return absl::DataLossError(
        fmt::format("{}: {} bytes long, not {}", path, stat.st_size, length.count));
  }
  return map(fd, path, length);
}

void MappedFile::close_descriptor() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      length_(other.length_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(length_, other.length_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, length_.count);
  if (fd_ >= 0) ::close(fd_);
}

absl::Status MappedFile::punch() const {
  if (::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(length_.count)) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, "punch hole");
}

// -- Slab ----------------------------------------------------------------------------------------

std::string Slab::data_path(const std::string& dir, SlabId id) {
  return fmt::format("{}/slab-{}.data", dir, id.value());
}
std::string Slab::header_path(const std::string& dir, SlabId id) {
  return fmt::format("{}/slab-{}.hdr", dir, id.value());
}

Slab::Slab(Shape shape, MappedFile data, MappedFile headers)
    : shape_(std::move(shape)), data_(std::move(data)), headers_(std::move(headers)) {
  headers_.close_descriptor();  // descriptors are scarcer than slabs
}

absl::StatusOr<std::unique_ptr<Slab>> Slab::make(const std::string& dir, Shape shape) {
  LARDER_ASSERT(shape.slots > 0 && shape.slot_bytes.count > 0);
  if (shape.tenant_name.size() > SlabFileHeader::kTenantNameMax) {
    return absl::InvalidArgumentError(fmt::format("tenant name of {} bytes, at most {}",
                                                  shape.tenant_name.size(),
                                                  SlabFileHeader::kTenantNameMax));
  }
  const std::string data_name = data_path(dir, shape.id);
  const std::string header_name = header_path(dir, shape.id);
  const std::string header_temporary = header_name + ".tmp";
  LARDER_ASSIGN_OR_RETURN(MappedFile data, MappedFile::make(data_name, data_length(shape)));
  auto headers = MappedFile::make(header_temporary, headers_length(shape));
  if (!headers.ok()) {
    ::unlink(data_name.c_str());
    return headers.status();
  }
  const SlabFileHeader header = describe(shape);
  std::memcpy(headers->data(), &header, sizeof header);
  if (std::rename(header_temporary.c_str(), header_name.c_str()) != 0) {
    const int error = errno;
    ::unlink(header_temporary.c_str());
    ::unlink(data_name.c_str());
    return error_of(header_name, "rename", error);
  }
  return std::unique_ptr<Slab>(new Slab(std::move(shape), std::move(data), *std::move(headers)));
}

absl::StatusOr<std::unique_ptr<Slab>> Slab::open(const std::string& dir, SlabId id) {
  const std::string header_name = header_path(dir, id);
  LARDER_ASSIGN_OR_RETURN(const SlabFileHeader header, read_file_header(header_name));
  if (header.id != id.value()) {
    return absl::DataLossError(fmt::format("{}: header of slab {}", header_name, header.id));
  }
  Shape shape{.id = id,
              .tenant = TenantId{},
              .tenant_name = std::string(header.tenant, header.tenant_length),
              .slot_bytes = {header.slot_bytes},
              .slots = header.slots};
  LARDER_ASSIGN_OR_RETURN(MappedFile headers, MappedFile::open(header_name, headers_length(shape)));
  LARDER_ASSIGN_OR_RETURN(MappedFile data,
                          MappedFile::open(data_path(dir, id), data_length(shape)));
  return std::unique_ptr<Slab>(new Slab(std::move(shape), std::move(data), std::move(headers)));
}

void Slab::raise_generations() {
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    header(slot)->committed.store(0, std::memory_order_relaxed);
    header(slot)->generation.fetch_add(1, std::memory_order_seq_cst);
  }
}

absl::Status Slab::punch() const {
  return data_.punch();
}

}  // namespace larder
