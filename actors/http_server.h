#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "store/types.h"

namespace larder {

/// /metrics (Prometheus text) and /healthz on a loopback port, by GET or HEAD, one request a
/// connection. A thread of its own, which calls the handlers; no peer can hold it up: a request has
/// one deadline and 8 KiB in all (431), no body (413) and no ranges, and of too many connections
/// the oldest is closed for the newest.
class HttpServer {
 public:
  struct Handlers {
    std::function<std::string()> metrics;
    std::function<bool()> healthy;
  };
  struct Limits {
    Duration request = std::chrono::seconds(5);  ///< from the connection to the header's last byte
    Duration answer = std::chrono::seconds(5);   ///< until the peer has taken it
    std::size_t connections = 64;
  };

  /// UNAVAILABLE naming the address when the port is in use.
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(const std::string& host,
                                                           std::uint16_t port, Handlers handlers,
                                                           Limits limits);
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(const std::string& host,
                                                           std::uint16_t port, Handlers handlers) {
    return start(host, port, std::move(handlers), Limits());
  }
  ~HttpServer();
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder
