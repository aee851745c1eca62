#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include <sys/types.h>
#include <sys/uio.h>

#include "store/types.h"

namespace larder {

/// Owns one file descriptor. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};
using Fds = absl::InlinedVector<Fd, 2>;

inline constexpr int kMessageFdsMax = 4;  ///< descriptors of one message; surplus is closed

/// Path of a unix socket, or host and port.
struct Address {
  std::string path = {};  ///< unix when not empty
  std::string host = {};
  std::string port = {};
  bool is_unix() const { return !path.empty(); }
  std::string text() const;
};

/// A text with `unix:` before it, with a '/' or without a ':' is a path, and so is the name of a
/// socket in the working directory; else it is `host:port` or `[v6]:port`. INVALID_ARGUMENT naming
/// the value.
absl::StatusOr<Address> parse_address(std::string_view text);

/// The other end is closed, or the connection lost. What it sent before may still be unread.
bool is_hung_up(int fd);

/// A non-blocking listener. A unix path must not exist (the caller, who holds the directory's lock,
/// removes a stale one); it is created with mode 0666: who may connect is the directory's mode.
absl::StatusOr<Fd> listen_on(const Address& address, int backlog = 256);
/// Port that a TCP listener got (0 was asked for).
absl::StatusOr<std::uint16_t> local_port(int fd);
/// Whether what a connected socket sends leaves this host, as far as addresses tell: TCP, to
/// neither loopback nor an address that is its own, too.
bool leaves_host(int fd);
/// A connected non-blocking socket; blocks up to `deadline` (name resolution apart). UNAVAILABLE
/// when nobody is there, DEADLINE_EXCEEDED.
absl::StatusOr<Fd> connect_to(const Address& address, Duration deadline);
/// The next connection, non-blocking, or nothing. Errors of one connection are skipped;
/// RESOURCE_EXHAUSTED when out of descriptors.
absl::StatusOr<std::optional<Fd>> accept_from(int listener);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
/// Of a unix socket, as the kernel knows them from connect time.
absl::StatusOr<PeerCredentials> peer_credentials(int fd);

/// "10.0.0.7:41234", "[::1]:41234", of who is at the other end of a TCP socket; "tcp" once gone.
std::string peer_name(int fd);

enum class IoState : std::uint8_t { kDone, kBlocked, kClosed, kFailed };
/// Of one system call. `bytes` moved when kDone; `error` is errno when kFailed.
struct IoResult {
  IoState state = IoState::kDone;
  std::size_t bytes = 0;
  int error = 0;
};

/// One sendmsg without SIGPIPE; `fds` (borrowed) travel with the first byte.
IoResult send_message(int fd, std::span<const iovec> pieces, std::span<const int> fds = {});
/// One recvmsg; received descriptors (close-on-exec) are appended to `fds`. On a TCP socket none
/// come.
IoResult receive_message(int fd, std::span<const iovec> pieces, Fds& fds);

/// "connect to X: No such file or directory".
absl::Status errno_status(absl::StatusCode code, std::string_view what, int error);

}  // namespace larder
