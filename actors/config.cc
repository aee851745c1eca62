#include "actors/config.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include "actors/config_keys.h"
#include "client/client.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

constexpr Bytes kHostBytesDefaultMax = 8_GiB;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kThreadsDefaultMax = 8;

absl::StatusOr<bool> is_loopback(const std::string& value) {
  if (is_off(value)) return true;
  LARDER_ASSIGN_OR_RETURN(const HostPort address, parse_host_port(value));
  return address.loopback();
}

absl::Status check_listen(const Config& config) {
  LARDER_ASSIGN_OR_RETURN(const bool loopback, is_loopback(config.listen));
  if (loopback || !config.token_file.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "listen = {}: is not a loopback address, which needs a token_file", config.listen));
}

/// Whoever reaches it is answered: it knows no tokens.
absl::Status check_http(const Config& config) {
  LARDER_ASSIGN_OR_RETURN(const bool loopback, is_loopback(config.http));
  if (loopback) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("http = {}: must be a loopback address, because it asks nobody who he is (a "
                  "token_file does not change that); from elsewhere reach it through an SSH tunnel "
                  "or a reverse proxy that asks",
                  config.http));
}

Bytes default_host_bytes(const Machine& machine) {
  const Bytes quarter{machine.memory.count / 4 / kPage * kPage};
  return std::clamp(quarter, 1_MiB, kHostBytesDefaultMax);
}

/// Slabs that are not full, the reserve of free slots and headers come on top of the capacity.
Bytes bytes_needed(Bytes host_bytes) {
  return {host_bytes.count + host_bytes.count / limits::kSlabsPerCapacity +
          host_bytes.count / limits::kReserveShare + host_bytes.count / 256};
}

std::string human(Bytes bytes) {
  return fmt::format("{} ({:.1f} MiB)", bytes.count, static_cast<double>(bytes.count) / 0x1p20);
}

}  // namespace

absl::Status Config::validate() const {
  LARDER_RETURN_IF_ERROR(check_listen(*this));
  LARDER_RETURN_IF_ERROR(check_http(*this));
  if (tls_cert.empty() != tls_key.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("tls_cert = {} and tls_key = {}: both or neither", tls_cert, tls_key));
  }
  if (is_off(listen) && socket == "off") {
    return absl::InvalidArgumentError("listen = off and socket = off: nothing to listen on");
  }
  return absl::OkStatus();
}

Config resolved(Config config, const Machine& machine) {
  if (config.socket.empty()) config.socket = default_server();
  if (config.runtime_dir.empty()) {
    config.runtime_dir = fmt::format("/dev/shm/larder-{}", machine.uid);
  }
  if (config.host_bytes.count == 0) config.host_bytes = default_host_bytes(machine);
  if (config.shards == 0) config.shards = std::clamp(machine.cores / 2, 1U, kThreadsDefaultMax);
  if (config.io_threads == 0) {
    config.io_threads =
        machine.cores <= 4 ? 1 : std::clamp(machine.cores / 4, 1U, kThreadsDefaultMax);
  }
  return config;
}

absl::Status check_runtime_space(const Config& config, const RuntimeSpace& space) {
  const Bytes need = bytes_needed(config.host_bytes);
  const Bytes room = space.free + space.held;
  if (need <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "runtime_dir = {}: needs {} for host_bytes = {}, but {} has room for {} only. Remedies: give "
      "a container more shared memory (docker run --shm-size=…, in Kubernetes an emptyDir with "
      "medium: Memory on /dev/shm), name another tmpfs with --runtime-dir, or ask for less with "
      "--host-bytes",
      config.runtime_dir, human(need), config.host_bytes.count, space.file_system, human(room)));
}

std::string to_toml(const Config& config) {
  std::string out;
  for (const ConfigKey& key : config_keys()) {
    out += fmt::format("# {}\n{} = {}\n", key.help, key.name, toml_value(config, key));
  }
  return out;
}

Environment process_environment() {
  Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("LARDER_") || equals == std::string_view::npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

bool HostPort::loopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<HostPort> parse_host_port(const std::string& text) {
  const auto wrong = [] {
    return absl::InvalidArgumentError("must be HOST:PORT, with a port of 0 to 65535");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  HostPort out{.host = text.substr(0, colon)};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (error != std::errc() || stop != end) return wrong();
  if (out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return wrong();  // v6 without brackets
  }
  if (out.host.empty()) return wrong();
  return out;
}

bool is_off(const std::string& address) {
  return address.empty() || address == "off";
}

}  // namespace larder
