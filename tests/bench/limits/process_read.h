#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include <sys/types.h>

namespace larder {

/// A second process whose memory this one reads with process_vm_readv: the machine's limit for
/// puts from memory that was not registered. It has an area of its own, of pages of the same kind,
/// at the addresses of the caller's area, and sleeps until it is ended. (Pages that a fork shares
/// would be copied by the kernel before they are read.)
///
/// Owns the process. One caller thread.
class ProcessRead {
 public:
  enum class Way : unsigned char {
    kReadThenSum,  ///< one call for a block, then its checksum
    kFusedSum,     ///< piece by piece: read, then the checksum while it is in the cache
  };
  static const char* name_of(Way way);

  /// `area` is a private mapping of whole pages. UNAVAILABLE when there is no process, or the
  /// kernel forbids to read its memory.
  static absl::StatusOr<std::unique_ptr<ProcessRead>> start(std::span<std::byte> area);
  ~ProcessRead();
  ProcessRead(const ProcessRead&) = delete;
  ProcessRead& operator=(const ProcessRead&) = delete;

  /// Copies the other process's bytes at the addresses of `from`, a part of the area. False when
  /// the kernel refuses.
  bool read(Way way, std::span<const std::byte> from, std::byte* to) const;

 private:
  explicit ProcessRead(pid_t pid) : pid_(pid) {}
  bool read_piece(std::span<const std::byte> from, std::byte* to) const;

  pid_t pid_;
};

}  // namespace larder
