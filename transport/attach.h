#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "transport/guarded_copy.h"
#include "transport/socket.h"

namespace larder {

/// Another process of this host whose memory is read by cross-memory attach (process_vm_readv).
///
/// Needs the same uid (and a permissive ptrace scope) or CAP_SYS_PTRACE. The pid is the kernel's,
/// from a connected unix socket; a pidfd is kept, so that a reused pid is noticed: ask alive()
/// after a copy and before its bytes become visible. A page-fault handler in the other process can
/// block read() for as long as it likes: call it off the io threads for anyone not trusted.
/// Move-only; read() may be called from one thread at a time.
class AttachedProcess {
 public:
  enum class Outcome : std::uint8_t {
    kOk,
    kFault,   ///< the addresses are not (all) mapped there
    kDenied,  ///< no right to
    kGone,    ///< the process has ended
  };

  /// Of the peer of `unix_socket`. FAILED_PRECONDITION when the kernel offers no pidfd, NOT_FOUND
  /// when the process is gone.
  static absl::StatusOr<AttachedProcess> open(int unix_socket);

  /// Reads the 8 bytes at `address` and compares: OK only if this is really the process that told
  /// us both, and reading is allowed. Else PERMISSION_DENIED with the reason.
  absl::Status probe(std::uint64_t address, std::uint64_t value) const;

  /// Copies at most limits::kCopySlice bytes; `dst` must not be guarded memory. Adds them to `sum`
  /// unless null.
  Outcome read(std::uint64_t address, std::span<std::byte> dst, Checksum* sum) const;

  bool alive() const;
  pid_t pid() const { return pid_; }

 private:
  AttachedProcess(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_ = 0;
  Fd pidfd_;
};

}  // namespace larder
