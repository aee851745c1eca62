// Requests to the metrics port, over loopback, as whoever reaches it may send them: the input's
// first byte says how they are cut, the rest goes down the stream. Whatever comes: no crash, an
// answer or an end, and a proper request after it is answered.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/http_server.h"
#include "store/assert.h"
#include "tests/fuzz/reached.h"

namespace larder {
namespace {

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
constexpr int kShutAfterMs = 2;
constexpr int kPatience = 20;  ///< seconds for one answer; the server's own limits are 5
fuzz::Reached reached;

std::uint16_t port() {
  static const auto server = HttpServer::start(
      "127.0.0.1", 0,
      {.metrics = [] { return std::string("larder_up 1\n"); }, .healthy = [] { return true; }});
  LARDER_ASSERT(server.ok());
  return (*server)->port();
}

/// A system call that libFuzzer's alarm does not end.
template <class Call>
auto again(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

int connect_to_server() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  LARDER_ASSERT(fd >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kPatience, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  // Reset when closed: so many connections would use up the ports with those that linger.
  const linger hard{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return fd;
  LARDER_ASSERT(errno == EINTR);  // libFuzzer's alarm; it goes on without us
  pollfd entry{fd, POLLOUT, 0};
  LARDER_ASSERT(again([&] { return ::poll(&entry, 1, kPatience * 1000); }) == 1);
  int error = 0;
  socklen_t length = sizeof error;
  LARDER_ASSERT(::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
  return fd;
}

/// Who ends the stream first.
enum class End : std::uint8_t { kOurs, kTheirs };

/// What the server says to `bytes`, until it ends the connection. It answers nobody who has shut
/// down his side in mid-request: that comes once it has answered, or had the time to.
std::string exchange(std::string_view bytes, std::size_t piece, End end) {
  const int fd = connect_to_server();
  while (!bytes.empty()) {
    const ssize_t sent = again(
        [&] { return ::send(fd, bytes.data(), std::min(piece, bytes.size()), MSG_NOSIGNAL); });
    if (sent <= 0) break;  // it has ended the connection
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  if (end == End::kOurs) {
    pollfd entry{fd, POLLIN, 0};
    (void)again([&] { return ::poll(&entry, 1, kShutAfterMs); });
    ::shutdown(fd, SHUT_WR);
  }
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = again([&] { return ::recv(fd, buffer, sizeof buffer, 0); })) > 0)
    answer.append(buffer, static_cast<std::size_t>(got));
  // Ended, or reset; not silent.
  LARDER_ASSERT(got == 0 || errno != EAGAIN);
  ::close(fd);
  return answer;
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static int number = 0;
  larder::reached.input();
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string answer = larder::exchange(bytes, 1 + data[0] * 16UL, larder::End::kOurs);
  LARDER_ASSERT(answer.empty() || answer.starts_with("HTTP/1."));
  if (answer.starts_with("HTTP/1.1 200")) larder::reached.past();
  // Every so often, and often enough that the input to blame is among the last few.
  if (++number % 64 == 0) {
    LARDER_ASSERT(
        larder::exchange(larder::kHealth, ~std::size_t{0}, larder::End::kTheirs).ends_with("ok\n"));
  }
  return 0;
}
