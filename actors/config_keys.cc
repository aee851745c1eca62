#include "actors/config_keys.h"

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include <fmt/format.h>

#include "store/limits.h"
#include "store/status_macros.h"
#include "store/utf8.h"

namespace larder {
namespace {

constexpr std::size_t kSocketPathMax = 107;  // sun_path, with its zero
constexpr std::size_t kTextMax = 4096;
constexpr std::uint64_t kHourMs = 3'600'000;
constexpr std::uint64_t kHostBytesMin = 1ULL << 20;
constexpr std::uint64_t kHostBytesMax = 1ULL << 46;

ConfigKey text(const char* name, std::string Config::*member, const char* help,
               ConfigKey::Text kind = ConfigKey::Text::kAny) {
  return {.name = name, .member = member, .help = help, .text = kind};
}
ConfigKey choice(const char* name, std::string Config::*member, const char* choices,
                 const char* help) {
  return {.name = name, .member = member, .help = help, .choices = choices};
}
ConfigKey number(const char* name, std::uint32_t Config::*member, std::uint64_t min,
                 std::uint64_t max, const char* help) {
  return {.name = name, .member = member, .help = help, .min = min, .max = max};
}

ConfigKey live(ConfigKey key) {
  key.live = true;
  return key;
}

using Text = ConfigKey::Text;
const ConfigKey kKeys[] = {
    text("listen", &Config::listen, "HOST:PORT for tcp clients; off: no tcp", Text::kAddress),
    text("socket", &Config::socket,
         "path of the unix socket for clients of this host; off: none; empty: the user's default",
         Text::kSocketPath),
    text("http", &Config::http,
         "HOST:PORT for /metrics and /healthz, on loopback: nobody is asked for a token; off: none",
         Text::kAddress),
    text("runtime_dir", &Config::runtime_dir,
         "directory for slab files, on tmpfs; empty: /dev/shm/larder-UID"),
    {.name = "host_bytes",
     .member = &Config::host_bytes,
     .help = "capacity, with K M G T or KiB MiB GiB TiB; 0: a quarter of the memory, at most 8 GiB",
     .min = kHostBytesMin,
     .max = kHostBytesMax,
     .also = 0,
     .live = true},
    {.name = "memory_pressure",
     .member = &Config::memory_pressure,
     .help =
         "take less than host_bytes while the machine, or a cgroup, has hardly any memory left, "
         "instead of being killed; needs runtime_dir on tmpfs",
     .live = true},
    number("shards", &Config::shards, 0, limits::kShardsMax,
           "shard actors; 0: one for each two cores, at least 1 and at most 8"),
    number("io_threads", &Config::io_threads, 0, limits::kIoThreadsMax,
           "threads that serve sessions; 0: one up to 4 cores, else one for each 4, at most 8"),
    live(choice("policy", &Config::policy, "lru|haz|s3fifo|sieve|lfu|fifo",
                "which block leaves next, and which new one is not let in")),
    live(number("spin_us", &Config::spin_us, 0, 10'000,
                "an io thread polls this long before it sleeps")),
    number("lease_ms", &Config::lease_ms, 100, kHourMs, "life of a lease without renewal"),
    number("heartbeat_ms", &Config::heartbeat_ms, 300, 600'000,
           "a session silent for this long is gone"),
    live(number("request_deadline_ms", &Config::request_deadline_ms, 100, kHourMs,
                "after which a request ends by itself")),
    live(text("token_file", &Config::token_file,
              "lines TOKEN TENANT [read] [write] [admin], TOKEN in plain or sha256:HEX; needed for "
              "addresses that are not loopback. Over the unix socket who names no token is tenant "
              "default: its directory's mode says who may come")),
    live(text("tenant_file", &Config::tenant_file,
              "lines TENANT [host=SIZE] [share=N]: what a tenant's blocks may take of host_bytes, "
              "and its share of what is waited for; * is every tenant without a line")),
    live(text("tls_cert", &Config::tls_cert,
              "PEM file of the certificate chain; with tls_key: TCP speaks TLS 1.3 and nothing "
              "else. Read again at a reload, for new sessions")),
    live(text("tls_key", &Config::tls_key, "PEM file of the key, of mode 600")),
    live(
        choice("namespace_mode", &Config::namespace_mode, "on|guarded|shadow|off",
               "how namespaces are served that have no mode of their own (larder mode): guarded is "
               "off after a corrupt block, shadow stores and counts but answers misses")),
    text("audit_file", &Config::audit_file,
         "where lines of who removed, pinned or changed what, or was refused, go; empty: the log, "
         "at "
         "level info. SIGHUP opens it anew"),
    live(choice("log_level", &Config::log_level, "trace|debug|info|warn|error|off",
                "least severe message that is logged")),
    choice("log_format", &Config::log_format, "text|json", "form of a log line"),
    text("log_file", &Config::log_file,
         "where logs go; empty: standard error. SIGHUP opens it anew"),
    live(number("pin_quota_percent", &Config::pin_quota_percent, 0, 100,
                "share of the capacity that requests and pins may hold")),
    live(number("max_sessions", &Config::max_sessions, 1, limits::kSessionsMax,
                "clients at a time")),
    {.name = "allow_trace_time",
     .member = &Config::allow_trace_time,
     .help = "let a replay send its own time; for tests"},
    live(number("verify_sample", &Config::verify_sample, 0, 1'000'000,
                "1 in N gets is checked before it is answered; 0: none")),
    live(number("scrub_mib_s", &Config::scrub_mib_s, 0, 10'000,
                "MiB of committed blocks that are read again a second, in turn for ever; 0: none")),
    live(choice("attach", &Config::attach, "auto|off",
                "read puts from clients' memory in place, where the kernel allows it")),
};

absl::Status bad(const ConfigKey& key, const std::string& value, const std::string& why) {
  return absl::InvalidArgumentError(fmt::format("{} = {}: {}", key.name, value, why));
}

absl::Status check_text(const ConfigKey& key, const std::string& value) {
  if (value.size() > kTextMax) {
    return bad(key, value.substr(0, 40) + "…",
               fmt::format("has {} bytes, must be at most {}", value.size(), kTextMax));
  }
  if (value.find_first_of(std::string("\0\n\r", 3)) != std::string::npos) {
    return bad(key, absl::CHexEscape(value), "must be one line");
  }
  if (!is_utf8(value)) return bad(key, absl::CHexEscape(value), "must be UTF-8");
  if (key.choices[0] != '\0') {
    for (const auto& choice : absl::StrSplit(key.choices, '|')) {
      if (choice == value) return absl::OkStatus();
    }
    return bad(key, value, fmt::format("must be one of {}", key.choices));
  }
  if (key.text == Text::kSocketPath && value.size() > kSocketPathMax) {
    return bad(
        key, value,
        fmt::format("has {} bytes, a socket path may have {}", value.size(), kSocketPathMax));
  }
  if (key.text == Text::kAddress && !is_off(value)) {
    const auto address = parse_host_port(value);
    if (!address.ok()) return bad(key, value, std::string(address.status().message()));
  }
  return absl::OkStatus();
}

absl::Status check_bounds(const ConfigKey& key, const std::string& shown, std::uint64_t value) {
  if (value == key.also || (value >= key.min && value <= key.max)) return absl::OkStatus();
  const std::string also = key.also == ~0ULL ? "" : fmt::format(" (or {})", key.also);
  return bad(key, shown, fmt::format("must be {} to {}{}", key.min, key.max, also));
}

absl::StatusOr<std::uint64_t> parse_number(const ConfigKey& key, const std::string& value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  return bad(key, value, fmt::format("must be a whole number, {} to {}", key.min, key.max));
}

/// Writes a checked value of each type.
struct Assign {
  Config& config;
  const ConfigKey& key;
  const std::string& value;

  absl::Status operator()(std::string Config::*member) const {
    LARDER_RETURN_IF_ERROR(check_text(key, value));
    config.*member = value;
    return absl::OkStatus();
  }
  absl::Status operator()(Bytes Config::*member) const {
    const auto bytes = parse_bytes(value);
    if (!bytes.ok()) return bad(key, value, std::string(bytes.status().message()));
    LARDER_RETURN_IF_ERROR(check_bounds(key, value, bytes->count));
    config.*member = *bytes;
    return absl::OkStatus();
  }
  absl::Status operator()(std::uint32_t Config::*member) const {
    LARDER_ASSIGN_OR_RETURN(const std::uint64_t number, parse_number(key, value));
    LARDER_RETURN_IF_ERROR(check_bounds(key, value, number));
    config.*member = static_cast<std::uint32_t>(number);
    return absl::OkStatus();
  }
  absl::Status operator()(bool Config::*member) const {
    if (value != "true" && value != "false") return bad(key, value, "must be true or false");
    config.*member = value == "true";
    return absl::OkStatus();
  }
};

struct ToToml {
  const Config& config;
  std::string operator()(std::string Config::*member) const {
    std::string quoted = "\"";
    for (const char c : config.*member) {
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
        quoted += fmt::format("\\u{:04X}", c);
        continue;
      }
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }
  std::string operator()(Bytes Config::*member) const {
    return fmt::format("{}", (config.*member).count);
  }
  std::string operator()(std::uint32_t Config::*member) const {
    return fmt::format("{}", config.*member);
  }
  std::string operator()(bool Config::*member) const { return config.*member ? "true" : "false"; }
};

}  // namespace

std::string ConfigKey::flag() const {
  std::string out = fmt::format("--{}", name);
  for (char& c : out) {
    if (c == '_') c = '-';
  }
  return out;
}

std::string ConfigKey::env() const {
  return "LARDER_" + absl::AsciiStrToUpper(name);
}

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

const ConfigKey* find_config_key(const std::string& name) {
  for (const ConfigKey& key : kKeys) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

std::vector<const ConfigKey*> changed_keys(const Config& before, const Config& after) {
  std::vector<const ConfigKey*> changed;
  for (const ConfigKey& key : kKeys) {
    const auto differs = [&](auto member) { return before.*member != after.*member; };
    if (std::visit(differs, key.member)) changed.push_back(&key);
  }
  return changed;
}

void copy_key(Config& to, const Config& from, const ConfigKey& key) {
  std::visit([&](auto member) { to.*member = from.*member; }, key.member);
}

absl::Status assign(Config& config, const ConfigKey& key, const std::string& value) {
  return std::visit(Assign{config, key, value}, key.member);
}

std::string toml_value(const Config& config, const ConfigKey& key) {
  return std::visit(ToToml{config}, key.member);
}

absl::StatusOr<Bytes> parse_bytes(const std::string& text) {
  const auto wrong = [] {
    return absl::InvalidArgumentError(
        "must be a number of bytes, with K M G T or KiB MiB GiB TiB behind it");
  };
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return wrong();
  std::string unit(absl::StripAsciiWhitespace(
      absl::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end))));
  if (unit.ends_with("iB")) unit.resize(unit.size() - 2);
  constexpr std::string_view kUnits = "KMGT";
  double scale = 1;
  if (!unit.empty() && unit != "B") {
    const std::size_t power = unit.size() == 1 ? kUnits.find(unit[0]) : std::string::npos;
    if (power == std::string::npos) return wrong();
    scale = std::exp2(10.0 * static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  if (bytes != std::floor(bytes)) return absl::InvalidArgumentError("must be whole bytes");
  if (bytes > 0x1p53) return absl::InvalidArgumentError("must be at most 2^53 bytes");
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

}  // namespace larder
