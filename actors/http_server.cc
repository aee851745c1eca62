#include "actors/http_server.h"

#include <thread>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

namespace larder {

namespace {
constexpr int kThreads = 2;
constexpr std::size_t kRequestsMax = 64;  // per connection, then it is closed
}  // namespace

struct HttpServer::Impl {
  httplib::Server server;
  std::thread thread;
  std::uint16_t port = 0;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& host,
                                                              std::uint16_t port,
                                                              Handlers handlers) {
  auto impl = std::make_unique<Impl>();
  httplib::Server& server = impl->server;
  server.set_tcp_nodelay(true);
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_max_count(kRequestsMax);
  server.set_payload_max_length(1 << 16);
  server.Get("/metrics", [handlers](const httplib::Request&, httplib::Response& response) {
    response.set_content(handlers.metrics(), "text/plain; version=0.0.4");
  });
  server.Get("/healthz", [handlers](const httplib::Request&, httplib::Response& response) {
    const bool healthy = handlers.healthy();
    response.status = healthy ? 200 : 503;
    response.set_content(healthy ? "ok\n" : "not serving\n", "text/plain");
  });
  // Without SO_REUSEPORT, which httplib sets: a second daemon must not share the port in silence.
  // With SO_REUSEADDR: connections of a daemon that died linger for a minute, the next one starts.
  server.set_socket_options([](int fd) {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  const int bound = port == 0 ? server.bind_to_any_port(host.c_str())
                              : (server.bind_to_port(host.c_str(), port) ? port : -1);
  if (bound < 0) {
    return absl::UnavailableError(
        fmt::format("http: cannot listen on {}:{} (port in use?); choose another with --http, or "
                    "--http off",
                    host, port));
  }
  impl->port = static_cast<std::uint16_t>(bound);
  impl->thread = std::thread([&server] { server.listen_after_bind(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  // stop() before the listener runs would be lost.
  while (!impl_->server.is_running())
    std::this_thread::yield();
  impl_->server.stop();
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

}  // namespace larder
