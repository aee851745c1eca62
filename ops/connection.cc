#include "ops/connection.h"

#include <cstdlib>

#include "store/status_macros.h"

namespace larder {

ExitCode exit_code_of(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kUnavailable;
    default:
      return ExitCode::kFailure;
  }
}

ExitCode exit_code_of(KeyStatus status) {
  switch (status) {
    case KeyStatus::kOk:
    case KeyStatus::kPresent:
      return ExitCode::kOk;
    case KeyStatus::kMiss:
    case KeyStatus::kPending:
    case KeyStatus::kCorrupt:
      return ExitCode::kMiss;
    case KeyStatus::kSizeMismatch:
    case KeyStatus::kInvalid:
      return ExitCode::kUsage;
    case KeyStatus::kNoSpace:
    case KeyStatus::kBusy:
    case KeyStatus::kRefused:
    case KeyStatus::kUnavailable:
    case KeyStatus::kDeadline:
      return ExitCode::kUnavailable;
    case KeyStatus::kCancelled:
    case KeyStatus::kFault:
    case KeyStatus::kWanted:
      return ExitCode::kFailure;
  }
  return ExitCode::kFailure;
}

absl::StatusOr<std::unique_ptr<Client>> connect(const ConnectionOptions& options,
                                                std::uint32_t spin_us) {
  Client::Options client;
  client.server = options.server;
  client.token = options.token;
  client.tls_ca = options.tls_ca;
  client.tls_name = options.tls_name;
  if (const char* token = std::getenv("LARDER_TOKEN"); client.token.empty() && token != nullptr) {
    client.token = token;
  }
  if (options.transport == "shm") client.transport = Client::Transport::kShm;
  if (options.transport == "tcp") client.transport = Client::Transport::kTcp;
  client.deadline = std::chrono::milliseconds(options.deadline_ms);
  client.spin = std::chrono::microseconds(spin_us);
  client.name = "larder";
  return Client::connect(client);
}

absl::Status status_of(const Completion& completion) {
  return {completion.code, completion.message};
}

const char* word_of(KeyStatus status) {
  switch (status) {
    case KeyStatus::kOk:
      return "ok";
    case KeyStatus::kMiss:
      return "miss";
    case KeyStatus::kPending:
      return "pending";
    case KeyStatus::kPresent:
      return "present";
    case KeyStatus::kSizeMismatch:
      return "size_mismatch";
    case KeyStatus::kRefused:
      return "refused";
    case KeyStatus::kNoSpace:
      return "no_space";
    case KeyStatus::kCorrupt:
      return "corrupt";
    case KeyStatus::kInvalid:
      return "invalid";
    case KeyStatus::kCancelled:
      return "cancelled";
    case KeyStatus::kBusy:
      return "busy";
    case KeyStatus::kFault:
      return "fault";
    case KeyStatus::kUnavailable:
      return "unavailable";
    case KeyStatus::kDeadline:
      return "deadline";
    case KeyStatus::kWanted:
      return "wanted";
  }
  return "unknown";
}

absl::StatusOr<double> figure_of(Client& client, const std::string& name) {
  LARDER_ASSIGN_OR_RETURN(const Client::ServerStats stats, client.server_stats());
  for (const auto& [known, value] : stats.values) {
    if (known == name) return value;
  }
  return absl::InternalError("larderd does not tell its " + name);
}

absl::StatusOr<std::uint64_t> capacity_of(Client& client) {
  LARDER_ASSIGN_OR_RETURN(const double bytes, figure_of(client, "capacity_bytes"));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace larder
