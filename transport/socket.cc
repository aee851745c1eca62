#include "transport/socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/status_macros.h"

namespace larder {
namespace {

using AddrInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.size() >= sizeof out.sun_path) {
    return absl::InvalidArgumentError(fmt::format("socket path '{}' has {} bytes, the limit is {}",
                                                  path, path.size(), sizeof out.sun_path - 1));
  }
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

absl::StatusOr<AddrInfo> resolve(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int rc = getaddrinfo(host, address.port.c_str(), &hints, &list);
  if (rc != 0) {
    return absl::UnavailableError(
        fmt::format("cannot resolve '{}': {}", address.text(), gai_strerror(rc)));
  }
  return AddrInfo(list, &freeaddrinfo);
}

/// Bytes under way to a receiver that does not keep up, and bytes kept behind them at the sender. A
/// frame without payload overtakes the chunks that wait in a FrameWriter, not those that the kernel
/// has: left to itself, that takes several MiB, which are milliseconds for the answer behind them.
/// Enough for 10 GB/s over a round trip of 100 µs.
constexpr int kWindowMax = 1 << 20;
constexpr int kUnsentMax = 256 << 10;

void tune(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &kWindowMax, sizeof kWindowMax);
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentMax, sizeof kUnsentMax);
}

absl::Status finish_connect(int fd, const std::string& name, Duration deadline) {
  pollfd entry{fd, POLLOUT, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(deadline).count();
  const int rc = poll(&entry, 1, static_cast<int>(ms < 0 ? 0 : ms));
  if (rc == 0) {
    return absl::DeadlineExceededError(fmt::format("connect to {}: no answer in {} ms", name, ms));
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) return absl::OkStatus();
  return errno_status(absl::StatusCode::kUnavailable, fmt::format("connect to {}", name), error);
}

absl::StatusOr<Fd> connect_one(int family, const sockaddr* to, socklen_t length,
                               const std::string& name, Duration deadline) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno_status(absl::StatusCode::kResourceExhausted, "socket", errno);
  if (family != AF_UNIX) tune(fd.get());
  if (connect(fd.get(), to, length) == 0) return fd;
  if (errno != EINPROGRESS && errno != EINTR) {
    return errno_status(absl::StatusCode::kUnavailable, fmt::format("connect to {}", name), errno);
  }
  LARDER_RETURN_IF_ERROR(finish_connect(fd.get(), name, deadline));
  return fd;
}

absl::StatusOr<Fd> bind_and_listen(int family, const sockaddr* at, socklen_t length,
                                   const std::string& name, int backlog) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno_status(absl::StatusCode::kResourceExhausted, "socket", errno);
  const int on = 1;
  if (family != AF_UNIX) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd.get(), at, length) != 0 || listen(fd.get(), backlog) != 0) {
    return errno_status(absl::StatusCode::kUnavailable, fmt::format("listen on {}", name), errno);
  }
  return fd;
}

/// Whether the text of an address is meant as a path.
bool is_path(const std::string& text) {
  if (text.find('/') != std::string::npos || text.find(':') == std::string::npos) return true;
  struct stat info {};
  return ::stat(text.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

absl::Status errno_status(absl::StatusCode code, std::string_view what, int error) {
  return absl::Status(code, fmt::format("{}: {}", what, std::generic_category().message(error)));
}

std::string Address::text() const {
  if (is_unix()) return path;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

bool is_hung_up(int fd) {
  pollfd entry{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

absl::StatusOr<Address> parse_address(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format(
        "address '{}': {}; expected the path of a unix socket or host:port", text, why));
  };
  Address out;
  if (text.empty()) return bad("empty");
  const bool said = text.starts_with("unix:");
  if (said) text.remove_prefix(5);
  if (said || is_path(std::string(text))) {
    out.path = std::string(text);
    if (text.empty()) return bad("no path");
    LARDER_RETURN_IF_ERROR(unix_address(out.path).status());
    return out;
  }
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("an IPv6 address goes in brackets");
  }
  if (host.empty()) return bad("no host");
  unsigned number = 0;
  for (const char c : port) {
    if (c < '0' || c > '9' || number > 65'535) return bad("the port is not a number to 65535");
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  if (port.empty() || number > 65'535) return bad("the port is not a number to 65535");
  out.host = std::string(host);
  out.port = std::string(port);
  return out;
}

absl::StatusOr<Fd> listen_on(const Address& address, int backlog) {
  if (address.is_unix()) {
    LARDER_ASSIGN_OR_RETURN(const sockaddr_un at, unix_address(address.path));
    LARDER_ASSIGN_OR_RETURN(Fd fd, bind_and_listen(AF_UNIX, reinterpret_cast<const sockaddr*>(&at),
                                                   sizeof at, address.text(), backlog));
    if (chmod(address.path.c_str(), 0666) != 0) {
      return errno_status(absl::StatusCode::kInternal, fmt::format("chmod {}", address.path),
                          errno);
    }
    return fd;
  }
  LARDER_ASSIGN_OR_RETURN(const AddrInfo list, resolve(address, AI_PASSIVE));
  return bind_and_listen(list->ai_family, list->ai_addr, list->ai_addrlen, address.text(), backlog);
}

absl::StatusOr<std::uint16_t> local_port(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
    return errno_status(absl::StatusCode::kInternal, "getsockname", errno);
  }
  if (at.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&at)->sin6_port);
  return absl::InvalidArgumentError("local_port of a socket that is not TCP");
}

bool leaves_host(int fd) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_length = sizeof own;
  socklen_t other_length = sizeof other;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_length) != 0) {
    return true;
  }
  if (other.ss_family == AF_INET) {
    const in_addr_t to = reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
    const in_addr_t from = reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr;
    return ntohl(to) >> 24 != IN_LOOPBACKNET && to != from;
  }
  if (other.ss_family == AF_INET6) {
    const in6_addr& to = reinterpret_cast<const sockaddr_in6&>(other).sin6_addr;
    const in6_addr& from = reinterpret_cast<const sockaddr_in6&>(own).sin6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&to) && to.s6_addr[12] == IN_LOOPBACKNET;
    return !IN6_IS_ADDR_LOOPBACK(&to) && !mapped && !IN6_ARE_ADDR_EQUAL(&to, &from);
  }
  return other.ss_family != AF_UNIX;
}

absl::StatusOr<Fd> connect_to(const Address& address, Duration deadline) {
  if (address.is_unix()) {
    LARDER_ASSIGN_OR_RETURN(const sockaddr_un to, unix_address(address.path));
    const bool bare = address.path.find('/') == std::string::npos;
    const std::string name =
        bare ? fmt::format("{} (a socket's path, as it has no port)", address.path) : address.path;
    return connect_one(AF_UNIX, reinterpret_cast<const sockaddr*>(&to), sizeof to, name, deadline);
  }
  LARDER_ASSIGN_OR_RETURN(const AddrInfo list, resolve(address, 0));
  absl::Status last = absl::UnavailableError(fmt::format("'{}' has no address", address.text()));
  int count = 0;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next)
    ++count;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    absl::StatusOr<Fd> fd =
        connect_one(at->ai_family, at->ai_addr, at->ai_addrlen, address.text(), deadline / count);
    if (fd.ok()) return fd;
    last = fd.status();
  }
  return last;
}

absl::StatusOr<std::optional<Fd>> accept_from(int listener) {
  for (int tries = 0; tries < 16; ++tries) {
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      int domain = 0;
      socklen_t length = sizeof domain;
      getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length);
      if (domain != AF_UNIX) tune(fd.get());
      return std::optional<Fd>(std::move(fd));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<Fd>();
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return errno_status(absl::StatusCode::kResourceExhausted, "accept", errno);
    }
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      return errno_status(absl::StatusCode::kInternal, "accept", errno);
    }
  }
  return std::optional<Fd>();
}

std::string peer_name(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const bool known = getpeername(fd, reinterpret_cast<sockaddr*>(&at), &length) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&at), length, host.data(), host.size(),
                                 port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  if (!known) return "tcp";
  const bool v6 = at.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", host.data(), v6 ? "]" : "", port.data());
}

absl::StatusOr<PeerCredentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return errno_status(absl::StatusCode::kInternal, "SO_PEERCRED", errno);
  }
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

namespace {

IoResult result_of(ssize_t rc) {
  if (rc > 0) return {.state = IoState::kDone, .bytes = static_cast<std::size_t>(rc)};
  if (rc == 0) return {.state = IoState::kClosed};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {.state = IoState::kBlocked};
  if (errno == ECONNRESET || errno == EPIPE) return {.state = IoState::kClosed, .error = errno};
  return {.state = IoState::kFailed, .error = errno};
}

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * kMessageFdsMax)];
};

}  // namespace

IoResult send_message(int fd, std::span<const iovec> pieces, std::span<const int> fds) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  ControlBuffer control{};
  if (!fds.empty()) {
    const std::size_t bytes = std::min<std::size_t>(fds.size(), kMessageFdsMax) * sizeof(int);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(head), fds.data(), bytes);
  }
  ssize_t rc = 0;
  do {
    rc = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (rc < 0 && errno == EINTR);
  return result_of(rc);
}

IoResult receive_message(int fd, std::span<const iovec> pieces, Fds& fds) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  ControlBuffer control{};
  // The kernel itself closes descriptors that do not fit here.
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t rc = 0;
  do {
    rc = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (rc < 0 && errno == EINTR);
  if (rc >= 0) {
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t n = 0; n < count; ++n) {
        int received = -1;
        std::memcpy(&received, CMSG_DATA(head) + n * sizeof(int), sizeof received);
        fds.emplace_back(received);
      }
    }
  }
  return result_of(rc);
}

}  // namespace larder
