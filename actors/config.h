#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"

#include "actors/machine.h"
#include "store/types.h"

namespace larder {

/// Every key of larderd, each with its default. Sources, the later wins: these defaults, the file
/// of
/// `--config` (TOML), environment variables LARDER_<KEY>, flags `--<key>`. One table
/// (config_keys.h) drives all four, so that they cannot differ.
struct Config {
  std::string listen = "127.0.0.1:7440";  ///< host:port for tcp; "off" or empty: none
  std::string socket;                     ///< unix socket; empty: default_server(); "off": none
  std::string http = "127.0.0.1:7441";    ///< /metrics and /healthz, loopback; "off" or empty: none
  std::string runtime_dir;                ///< slab files; empty: /dev/shm/larder-<uid>
  Bytes host_bytes{0};                    ///< capacity; 0: a quarter of the memory, at most 8 GiB
  bool memory_pressure = true;            ///< less than host_bytes while memory is short
  std::uint32_t shards = 0;               ///< 0: one for each two cores, 1 to 8
  std::uint32_t io_threads = 0;           ///< 0: one up to 4 cores, else cores / 4, at most 8
  std::string policy = "lru";
  std::uint32_t spin_us = 50;
  std::uint32_t lease_ms = 10'000;
  std::uint32_t heartbeat_ms = 3'000;
  std::uint32_t request_deadline_ms = 60'000;
  std::string token_file;
  std::string tenant_file;  ///< TenantLimits; empty: none
  std::string tls_cert;     ///< PEM; with tls_key: every TCP session speaks TLS 1.3
  std::string tls_key;
  std::string namespace_mode = "on";  ///< of namespaces without a mode of their own
  std::string audit_file;             ///< who removed, pinned or changed what; empty: the log
  std::string log_level = "info";
  std::string log_format = "text";
  std::string log_file;  ///< empty: standard error
  std::uint32_t pin_quota_percent = 25;
  std::uint32_t max_sessions = 1'024;
  bool allow_trace_time = false;
  std::uint32_t verify_sample = 0;  ///< 1 in N gets is checked before it is answered; 0: none
  std::uint32_t scrub_mib_s = 8;    ///< committed bytes read again in the background; 0: none
  std::string attach = "auto";

  bool operator==(const Config&) const = default;
  /// What no single key can tell: a non-loopback address without a token file or for http, nothing
  /// to listen on. INVALID_ARGUMENT naming key and value.
  absl::Status validate() const;
};

/// Fills in what depends on the machine (socket, runtime_dir, host_bytes, shards, io_threads).
Config resolved(Config config, const Machine& machine);

/// RESOURCE_EXHAUSTED naming need, room and remedies when `host_bytes` does not fit. `config` is
/// resolved.
absl::Status check_runtime_space(const Config& config, const RuntimeSpace& space);

/// As a TOML file with a comment a key; loading it gives `config` again.
std::string to_toml(const Config& config);

/// Variables LARDER_*, by name.
using Environment = std::map<std::string, std::string>;
/// The process's own. No other thread may change them meanwhile.
Environment process_environment();

struct Invocation {
  enum class Action : std::uint8_t { kRun, kPrint };
  Action action = Action::kRun;
  Config config;     ///< resolved and valid
  std::string text;  ///< kPrint: what to print (help, version, configuration), then exit with 0
};

/// What larderd's `main` needs. INVALID_ARGUMENT names source, key, value and bound. Free of CAF;
/// does not throw; may be called from any thread.
absl::StatusOr<Invocation> load_config(int argc, const char* const* argv, const Environment& env,
                                       const Machine& machine);

/// `larder config check FILE`: defaults and the file alone, not resolved; check_files looks at what
/// it names. NOT_FOUND, INVALID_ARGUMENT.
absl::StatusOr<Config> load_config_file(const std::string& path);

/// "host:port" or "[v6]:port" in its parts.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool loopback() const;
};
/// INVALID_ARGUMENT. Port 0 asks for any free one.
absl::StatusOr<HostPort> parse_host_port(const std::string& text);
/// True for "" and "off".
bool is_off(const std::string& address);

}  // namespace larder
