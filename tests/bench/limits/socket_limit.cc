#include "tests/bench/limits/socket_limit.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/checksum.h"
#include "tests/bench/limits/bare_copy.h"

namespace larder {
namespace {

constexpr std::size_t kGetRequestBytes = 16;
constexpr std::size_t kPutReplyBytes = 8;
constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

/// True when a call that moved nothing may be tried again. Polls; gives the core away only after
/// many polls in vain, for machines where somebody else needs it to make the other end move.
bool poll_again(unsigned& in_vain, unsigned gap) {
  constexpr unsigned kPollsMax = 200;
  if (errno != EAGAIN && errno != EINTR) return false;
  for (unsigned n = 0; n < gap; ++n)
    std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the empty loop
  if (++in_vain % kPollsMax == 0) std::this_thread::yield();
  return true;
}

/// Before the connection is made: the window is agreed on then.
void tune(int fd, const SocketTuning& tuning) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (tuning.window_bytes == 0) return;
  const int unsent = tuning.window_bytes / 4;
  setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &tuning.window_bytes, sizeof tuning.window_bytes);
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

bool tcp_pair(int fds[2], const SocketTuning& tuning) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  tune(listener, tuning);  // what it accepts is as it is
  tune(fds[0], tuning);
  const bool connected = bind(listener, raw, length) == 0 && listen(listener, 1) == 0 &&
                         getsockname(listener, raw, &length) == 0 &&
                         connect(fds[0], raw, length) == 0;
  fds[1] = connected ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  close(listener);
  if (fds[1] < 0)
    close(fds[0]);
  else
    tune(fds[1], tuning);
  return fds[1] >= 0;
}

template <class Byte, class Fn>
void for_chunks(std::span<Byte> block, std::size_t chunk_bytes, Fn&& fn) {
  while (!block.empty()) {
    const std::size_t count = std::min(block.size(), chunk_bytes);
    fn(block.first(count));
    block = block.subspan(count);
  }
}

/// The next `count` bytes of an area, going round.
std::span<std::byte> next_piece(std::span<std::byte> area, std::size_t count, std::size_t* at) {
  if (*at + count > area.size()) *at = 0;
  const auto piece = area.subspan(*at, count);
  *at += count;
  return piece;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketLimit>> SocketLimit::start(const Options& options) {
  int fds[2] = {-1, -1};
  const bool made = options.tcp ? tcp_pair(fds, options.tuning)
                                : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0;
  if (!made) return absl::UnavailableError(fmt::format("socket pair: {}", std::strerror(errno)));
  return std::unique_ptr<SocketLimit>(new SocketLimit(options, fds[0], fds[1]));
}

SocketLimit::SocketLimit(const Options& options, int near_fd, int far_fd)
    : options_(options), near_fd_(near_fd), far_fd_(far_fd), peer_([this] { serve(); }) {}

SocketLimit::~SocketLimit() {
  let_peer(true);
  shutdown(near_fd_, SHUT_RDWR);
  peer_.join();
  close(near_fd_);
  close(far_fd_);
}

std::string SocketLimit::name() const {
  if (!options_.tcp) return "unix_socket";
  const int window = options_.tuning.window_bytes;
  return fmt::format("socket, {} KiB chunks, window {}{}", options_.tuning.chunk_bytes >> 10,
                     window == 0 ? "of the kernel" : fmt::format("{} KiB", window >> 10),
                     options_.tuning.gap == 0 ? "" : ", polls apart");
}

void SocketLimit::let_peer(bool poll) {
  busy_ = poll;
  busy_.notify_one();
}

std::uint64_t SocketLimit::run(Duration duration, std::uint64_t calls_max, std::vector<float>& us) {
  std::deque<Time> started;
  const Time start = options_.clock();
  Time now = start;
  std::uint64_t begun = 0;
  std::uint64_t calls = 0;
  for (;;) {
    while (started.size() < options_.depth && begun < calls_max &&
           (begun == 0 || now - start < duration)) {
      started.push_back(options_.clock());
      begin_call();
      begun += 1;
      now = options_.clock();
    }
    if (started.empty()) break;
    end_call();
    now = options_.clock();
    us.push_back(std::chrono::duration<float, std::micro>(now - started.front()).count());
    started.pop_front();
    calls += 1;
  }
  return calls;
}

void SocketLimit::begin_call() {
  if (options_.load == Load::kGet) {
    const std::byte request[kGetRequestBytes] = {};
    send_all(near_fd_, request);
    return;
  }
  const auto bytes = next_piece(options_.near, options_.call_bytes, &sent_at_);
  send_call(near_fd_, bytes, options_.load == Load::kPut ? Sums::kMake : Sums::kNone);
}

void SocketLimit::end_call() {
  if (options_.load == Load::kGet) {
    const auto bytes = next_piece(options_.near, options_.call_bytes, &received_at_);
    receive_call(near_fd_, bytes, Sums::kMake);
    return;
  }
  std::vector<std::byte> reply(options_.load == Load::kPut ? kPutReplyBytes : options_.reply_bytes);
  receive_all(near_fd_, reply);
}

void SocketLimit::serve() {
  std::size_t at = 0;
  while (serve_one(&at)) {
  }
}

bool SocketLimit::serve_one(std::size_t* at) {
  if (options_.load == Load::kGet) {
    std::byte request[kGetRequestBytes];
    return receive_all(far_fd_, request, &busy_) &&
           send_all(far_fd_, next_piece(options_.far, options_.call_bytes, at));
  }
  const auto bytes = next_piece(options_.far, options_.call_bytes, at);
  const Sums sums = options_.load == Load::kPut ? Sums::kMake : Sums::kNone;
  if (!receive_call(far_fd_, bytes, sums, &busy_)) return false;
  const std::vector<std::byte> reply(options_.load == Load::kPut ? kPutReplyBytes
                                                                 : options_.reply_bytes);
  return send_all(far_fd_, reply);
}

bool SocketLimit::send_call(int fd, std::span<const std::byte> bytes, Sums sums) const {
  if (sums == Sums::kNone) return send_all(fd, bytes);
  bool open = true;
  for (; open && !bytes.empty(); bytes = bytes.subspan(options_.block_bytes)) {
    ChecksumStream sum;
    for_chunks(bytes.first(options_.block_bytes), options_.tuning.chunk_bytes,
               [&](std::span<const std::byte> chunk) {
                 sum.update(chunk);
                 open = open && send_all(fd, chunk);
               });
    keep_sum(sum.digest());
  }
  return open;
}

bool SocketLimit::receive_call(int fd, std::span<std::byte> bytes, Sums sums,
                               const std::atomic<bool>* busy) const {
  if (sums == Sums::kNone) return receive_all(fd, bytes, busy);
  bool open = true;
  for (; open && !bytes.empty(); bytes = bytes.subspan(options_.block_bytes)) {
    ChecksumStream sum;
    for_chunks(bytes.first(options_.block_bytes), options_.tuning.chunk_bytes,
               [&](std::span<std::byte> chunk) {
                 open = open && receive_all(fd, chunk, std::exchange(busy, nullptr));
                 sum.update(chunk);
               });
    keep_sum(sum.digest());
  }
  return open;
}

/// Both spin until all bytes are through; false when the other end has gone.
bool SocketLimit::send_all(int fd, std::span<const std::byte> bytes) const {
  unsigned in_vain = 0;
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), kFlags);
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
    if (sent < 0 && !poll_again(in_vain, options_.tuning.gap)) return false;
  }
  return true;
}
/// While `busy` says no and nothing has come it sleeps, if there is a `busy`.
bool SocketLimit::receive_all(int fd, std::span<std::byte> bytes,
                              const std::atomic<bool>* busy) const {
  unsigned in_vain = 0;
  const std::size_t whole = bytes.size();
  while (!bytes.empty()) {
    if (busy != nullptr && bytes.size() == whole) busy->wait(false);
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), kFlags);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && !poll_again(in_vain, options_.tuning.gap))) return false;
  }
  return true;
}

}  // namespace larder
