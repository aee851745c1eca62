#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace larder {

/// /metrics (Prometheus text) and /healthz on a loopback port. Own threads; the handlers are called
/// from them.
class HttpServer {
 public:
  struct Handlers {
    std::function<std::string()> metrics;
    std::function<bool()> healthy;
  };

  /// UNAVAILABLE naming the address when the port is in use.
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(const std::string& host,
                                                           std::uint16_t port, Handlers handlers);
  ~HttpServer();
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder
