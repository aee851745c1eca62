#include "transport/attach.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr int kPeerPidFd = 77;            // SO_PEERPIDFD, Linux 6.5
constexpr long kPidFdOpen = 434;          // pidfd_open, Linux 5.3
constexpr std::size_t kPiece = 64 << 10;  ///< small enough that the checksum finds it in the cache

Fd peer_pidfd(int socket, pid_t pid) {
  int fd = -1;
  socklen_t length = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidFd, &fd, &length) == 0) return Fd(fd);
  return Fd(static_cast<int>(syscall(kPidFdOpen, pid, 0)));
}

AttachedProcess::Outcome outcome_of(int error) {
  switch (error) {
    case EPERM:
      return AttachedProcess::Outcome::kDenied;
    case ESRCH:
      return AttachedProcess::Outcome::kGone;
    default:
      return AttachedProcess::Outcome::kFault;
  }
}

}  // namespace

absl::StatusOr<AttachedProcess> AttachedProcess::open(int unix_socket) {
  LARDER_ASSIGN_OR_RETURN(const PeerCredentials peer, peer_credentials(unix_socket));
  if (peer.pid <= 0) {
    return absl::FailedPreconditionError("the peer's process is not visible in our pid namespace");
  }
  Fd pidfd = peer_pidfd(unix_socket, peer.pid);
  if (pidfd.valid()) return AttachedProcess(peer.pid, std::move(pidfd));
  if (errno == ESRCH) {
    return absl::NotFoundError(fmt::format("process {} has ended", peer.pid));
  }
  return errno_status(absl::StatusCode::kFailedPrecondition, "pidfd_open", errno);
}

absl::Status AttachedProcess::probe(std::uint64_t address, std::uint64_t value) const {
  std::uint64_t found = 0;
  const Outcome outcome =
      read(address, std::as_writable_bytes(std::span<std::uint64_t, 1>(&found, 1)), nullptr);
  if (outcome == Outcome::kOk && found == value && alive()) return absl::OkStatus();
  const char* why = "the probe holds another value: not the process that sent it";
  if (outcome == Outcome::kDenied) {
    why = "not allowed (needs the same uid and kernel.yama.ptrace_scope 0, or CAP_SYS_PTRACE)";
  } else if (outcome == Outcome::kFault) {
    why = "the probe's address cannot be read";
  } else if (outcome == Outcome::kGone) {
    why = "the process has ended";
  }
  return absl::PermissionDeniedError(
      fmt::format("cross-memory attach of process {}: {}", pid_, why));
}

AttachedProcess::Outcome AttachedProcess::read(std::uint64_t address, std::span<std::byte> dst,
                                               Checksum* sum) const {
  LARDER_ASSERT(dst.size() <= limits::kCopySlice.count);
  std::size_t at = 0;
  while (at < dst.size()) {
    const std::size_t n = std::min(kPiece, dst.size() - at);
    const iovec local{dst.data() + at, n};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    const iovec remote{reinterpret_cast<void*>(address + at), n};
    const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got < 0) return outcome_of(errno);
    if (got == 0) return Outcome::kFault;
    if (sum != nullptr) sum->update(dst.data() + at, static_cast<std::size_t>(got));
    at += static_cast<std::size_t>(got);
  }
  return Outcome::kOk;
}

bool AttachedProcess::alive() const {
  pollfd entry{pidfd_.get(), POLLIN, 0};
  return poll(&entry, 1, 0) == 0;
}

}  // namespace larder
