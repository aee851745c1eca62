#include "actors/http_server.h"

#include <thread>

#include <boost/test/unit_test.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "transport/socket.h"

namespace larder::http_server_test {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<HttpServer> server_with(HttpServer::Limits limits) {
  auto server = HttpServer::start(
      "127.0.0.1", 0,
      {.metrics = [] { return std::string(20'000, 'm') + "\n"; }, .healthy = [] { return true; }},
      limits);
  BOOST_REQUIRE(server.ok());
  return *std::move(server);
}

/// One connection.
class Peer {
 public:
  explicit Peer(const HttpServer& server) {
    auto fd = connect_to({.host = "127.0.0.1", .port = std::to_string(server.port())}, seconds(5));
    BOOST_REQUIRE(fd.ok());
    fd_ = *std::move(fd);
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN) return;
    }
  }
  /// Until the server ends the connection; then `ended`.
  std::string receive(Duration within) {
    std::string answer;
    char buffer[4096];
    pollfd entry{fd_.get(), POLLIN, 0};
    const auto ms = std::chrono::duration_cast<milliseconds>(within).count();
    while (::poll(&entry, 1, static_cast<int>(ms)) == 1) {
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) {
        ended = true;
        break;
      }
      answer.append(buffer, static_cast<std::size_t>(got));
    }
    return answer;
  }
  bool ended = false;

 private:
  Fd fd_;
};

std::string ask(const HttpServer& server, const std::string& request) {
  Peer peer(server);
  peer.send(request);
  return peer.receive(seconds(2));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_server)

BOOST_AUTO_TEST_CASE(answers_metrics_and_probes_and_nothing_else) {
  const auto server = server_with({});

  const std::string metrics = ask(*server, "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
  BOOST_TEST(metrics.starts_with("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(metrics.ends_with("mm\n"));
  BOOST_TEST(metrics.find("Content-Length: 20001\r\n") != std::string::npos);
  BOOST_TEST(ask(*server, "GET /healthz HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nok\n"));
  BOOST_TEST(ask(*server, "HEAD /healthz HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
  BOOST_TEST(ask(*server, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  BOOST_TEST(ask(*server, "DELETE /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
  BOOST_TEST(ask(*server, "no request\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

BOOST_AUTO_TEST_CASE(half_requests_delay_no_probe_and_end_however_they_drip) {
  const auto server = server_with({.request = seconds(1), .connections = 8});
  std::vector<Peer> slow;
  for (int n = 0; n < 12; ++n) {
    slow.emplace_back(*server);
    slow.back().send("GET /metrics HTTP/1.1\r\nX: ");
  }

  const auto before = std::chrono::steady_clock::now();
  BOOST_TEST(ask(*server, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
  BOOST_TEST((std::chrono::steady_clock::now() - before < milliseconds(900)));
  BOOST_TEST(slow.front().receive(milliseconds(500)).empty());
  BOOST_TEST(slow.front().ended);  // the oldest, of more than 8

  const auto end = before + seconds(3);
  while (!slow.back().ended && std::chrono::steady_clock::now() < end) {
    slow.back().send("x");
    (void)slow.back().receive(milliseconds(100));
  }
  BOOST_TEST(slow.back().ended);
}

BOOST_AUTO_TEST_CASE(a_header_of_more_than_8_KiB_is_refused_in_one_line_or_many) {
  const auto server = server_with({});
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int n = 0; n < 2000; ++n)
    many += "A: bbbbbbbb\r\n";

  BOOST_TEST(ask(*server, many + "\r\n").starts_with("HTTP/1.1 431 "));
  BOOST_TEST(ask(*server, "GET /healthz HTTP/1.1\r\nA: " + std::string(9000, 'a'))
                 .starts_with("HTTP/1.1 431 "));
  BOOST_TEST(ask(*server, "GET /" + std::string(9000, 'a')).starts_with("HTTP/1.1 431 "));
}

BOOST_AUTO_TEST_CASE(ranges_are_ignored_and_bodies_refused) {
  const auto server = server_with({});
  std::string ranges = "0-";
  for (int n = 0; n < 500; ++n)
    ranges += ",0-";

  const std::string whole =
      ask(*server, "GET /metrics HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n");
  BOOST_TEST(whole.starts_with("HTTP/1.1 200 "));
  BOOST_TEST(whole.size() < 21'000U);
  BOOST_TEST(ask(*server, "GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")
                 .starts_with("HTTP/1.1 413 "));
  BOOST_TEST(ask(*server, "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello")
                 .starts_with("HTTP/1.1 413 "));
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_named) {
  const auto server = server_with({});
  const auto second = HttpServer::start("127.0.0.1", server->port(), {});
  BOOST_TEST((second.status().code() == absl::StatusCode::kUnavailable));
  const std::string why(second.status().message());
  BOOST_TEST(why.find(std::to_string(server->port())) != std::string::npos, why);
  BOOST_TEST(why.find("--http off") != std::string::npos, why);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::http_server_test
