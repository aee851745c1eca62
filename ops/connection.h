#pragma once

#include <memory>
#include <string>

#include "client/client.h"

namespace larder {

/// How a command ends; scripts rely on the numbers.
enum class ExitCode : int {
  kOk = 0,
  kMiss = 1,         ///< absent, or another honest "no"
  kUsage = 2,        ///< wrong flags or input
  kUnavailable = 3,  ///< no larderd answered, it had no room, or does not serve this
  kFailure = 4,
};

/// NOT_FOUND, INVALID_ARGUMENT and OUT_OF_RANGE are about input; UNAVAILABLE, DEADLINE_EXCEEDED and
/// RESOURCE_EXHAUSTED about larderd.
ExitCode exit_code_of(const absl::Status& status);
/// Of one key; of several the highest counts.
ExitCode exit_code_of(KeyStatus status);

/// The flags that every command which talks to larderd has.
struct ConnectionOptions {
  std::string server;  ///< socket path or host:port; empty: $LARDER_SERVER, then default
  std::string transport = "auto";  ///< auto, shm or tcp
  std::string token;               ///< empty: $LARDER_TOKEN
  std::string tls_ca;              ///< empty: $LARDER_TLS_CA, else no TLS
  std::string tls_name;            ///< empty: the server's host
  std::uint32_t deadline_ms = 10'000;
};

/// UNAVAILABLE names the server that did not answer. A waiting call polls for `spin_us` before it
/// sleeps.
absl::StatusOr<std::unique_ptr<Client>> connect(const ConnectionOptions& options,
                                                std::uint32_t spin_us = 150);

/// OK, or the call's own error.
absl::Status status_of(const Completion& completion);
/// "hit", "miss", …: a word for scripts.
const char* word_of(KeyStatus status);

/// One of the daemon's figures, as `larder status` names it; INTERNAL when it does not tell.
absl::StatusOr<double> figure_of(Client& client, const std::string& name);
/// Bytes of blocks that the daemon may hold.
absl::StatusOr<std::uint64_t> capacity_of(Client& client);

}  // namespace larder
