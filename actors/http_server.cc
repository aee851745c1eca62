#include "actors/http_server.h"

#include <array>
#include <deque>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include "store/status_macros.h"
#include "transport/socket.h"

namespace larder {

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
// Executors by name: the type-erased default doubles what this file costs to compile.
using Executor = net::io_context::executor_type;
using Socket = net::basic_stream_socket<net::ip::tcp, Executor>;
using Acceptor = net::basic_socket_acceptor<net::ip::tcp, Executor>;
using Timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                        net::wait_traits<std::chrono::steady_clock>, Executor>;

constexpr std::size_t kHeaderBytesMax = 8 << 10;
constexpr auto kDrainTime = std::chrono::seconds(1);
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);

struct Answer {
  http::status status = http::status::ok;
  const char* type = "text/plain";
  std::string body;
};

Answer refusal(http::status status) {
  return {.status = status, .body = std::string(http::obsolete_reason(status)) + "\n"};
}

Answer answer_to(const HttpServer::Handlers& handlers, http::verb method, std::string target) {
  target.resize(std::min(target.size(), target.find('?')));
  if (target != "/metrics" && target != "/healthz") return refusal(http::status::not_found);
  if (method != http::verb::get && method != http::verb::head) {
    return refusal(http::status::method_not_allowed);
  }
  if (target == "/metrics") {
    return {.type = "text/plain; version=0.0.4", .body = handlers.metrics()};
  }
  if (handlers.healthy()) return {.body = "ok\n"};
  return {.status = http::status::service_unavailable, .body = "not serving\n"};
}

/// Of a request that could not be read.
Answer answer_to(const error_code& error) {
  if (error == http::error::header_limit) {
    return refusal(http::status::request_header_fields_too_large);
  }
  if (error == http::error::body_limit) return refusal(http::status::payload_too_large);
  return refusal(http::status::bad_request);
}

/// One request: read, answered, and the stream drained, so that a reset does not overtake the
/// answer. Kept alive by what it waits for.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, const HttpServer::Handlers& handlers, HttpServer::Limits limits)
      : socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        handlers_(handlers),
        limits_(limits) {
    parser_.header_limit(kHeaderBytesMax);
    parser_.body_limit(0);
  }
  void start() {
    close_after(limits_.request);
    read();
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
    deadline_.cancel();
  }

 private:
  /// Whatever arrives until then.
  void close_after(Duration time) {
    deadline_.expires_after(time);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->close();
    });
  }
  void read() {
    socket_.async_read_some(net::buffer(in_) + filled_,
                            [self = shared_from_this()](const error_code& error, std::size_t got) {
                              error ? self->close() : self->parse(got);
                            });
  }
  void parse(std::size_t got) {
    filled_ += got;
    error_code error;
    parsed_ += parser_.put(net::buffer(in_.data() + parsed_, filled_ - parsed_), error);
    if (error == http::error::need_more) error = {};
    if (!error && !parser_.is_header_done()) {
      if (filled_ < in_.size()) return read();
      error = http::error::header_limit;
    }
    if (!error && parser_.chunked()) error = http::error::body_limit;
    if (error) return send(answer_to(error), true);
    const auto& request = parser_.get();
    send(answer_to(handlers_, request.method(), std::string(request.target())),
         request.method() != http::verb::head);
  }
  void send(const Answer& answer, bool with_body) {
    out_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        static_cast<unsigned>(answer.status), std::string(http::obsolete_reason(answer.status)),
        answer.type, answer.body.size(), with_body ? answer.body : "");
    close_after(limits_.answer);
    net::async_write(socket_, net::buffer(out_),
                     [self = shared_from_this()](const error_code& error, std::size_t /*sent*/) {
                       if (error) return self->close();
                       error_code ignored;
                       self->socket_.shutdown(Socket::shutdown_send, ignored);
                       self->close_after(kDrainTime);
                       self->drain();
                     });
  }
  void drain() {
    socket_.async_read_some(net::buffer(in_),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              error ? self->close() : self->drain();
                            });
  }

  Socket socket_;
  Timer deadline_;
  const HttpServer::Handlers& handlers_;
  HttpServer::Limits limits_;
  http::request_parser<http::empty_body> parser_;
  std::array<char, kHeaderBytesMax> in_{};
  std::size_t filled_ = 0;
  std::size_t parsed_ = 0;
  std::string out_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(Fd fd, Handlers handlers_of, Limits limits_of)
      : handlers(std::move(handlers_of)), limits(limits_of) {
    acceptor.assign(net::ip::tcp::v4(), fd.release());
  }
  void await() {
    acceptor.async_wait(Acceptor::wait_read, [this](const error_code& error) {
      if (!error) accept_all();
    });
  }
  void accept_all() {
    for (;;) {
      auto next = accept_from(acceptor.native_handle());
      if (!next.ok()) return await_later();
      if (!*next) return await();
      add(*std::move(*next));
    }
  }
  /// Out of descriptors: the listener stays ready, and would be asked again at once.
  void await_later() {
    again.expires_after(kAcceptAgain);
    again.async_wait([this](const error_code& error) {
      if (!error) accept_all();
    });
  }
  void add(Fd fd) {
    std::erase_if(open, [](const auto& connection) { return connection.expired(); });
    if (open.size() >= limits.connections) {
      if (const auto oldest = open.front().lock()) oldest->close();
      open.pop_front();
    }
    auto made = std::make_shared<Connection>(Socket(io, net::ip::tcp::v4(), fd.release()), handlers,
                                             limits);
    open.push_back(made);
    made->start();
  }

  const Handlers handlers;
  const Limits limits;
  net::io_context io{1};
  Acceptor acceptor{io};
  Timer again{io};
  std::deque<std::weak_ptr<Connection>> open;  ///< oldest first
  std::uint16_t port = 0;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& host,
                                                              std::uint16_t port, Handlers handlers,
                                                              Limits limits) {
  auto fd = listen_on({.host = host, .port = std::to_string(port)});
  if (!fd.ok()) {
    return absl::UnavailableError(
        fmt::format("http: cannot {}; choose another with --http, or --http off",
                    std::string(fd.status().message())));
  }
  LARDER_ASSIGN_OR_RETURN(const std::uint16_t bound, local_port(fd->get()));
  auto impl = std::make_unique<Impl>(*std::move(fd), std::move(handlers), limits);
  impl->port = bound;
  impl->await();
  impl->thread = std::thread([raw = impl.get()] { raw->io.run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  impl_->io.stop();
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

}  // namespace larder
