#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "actors/config.h"

namespace larder {

/// One key of the configuration: the same row gives the TOML key, the flag, the environment
/// variable, the help line and the bounds.
struct ConfigKey {
  using Member =
      std::variant<std::string Config::*, Bytes Config::*, std::uint32_t Config::*, bool Config::*>;
  enum class Text : std::uint8_t { kAny, kAddress, kSocketPath };

  const char* name;
  Member member;
  const char* help;
  std::uint64_t min = 0;       ///< numbers and sizes
  std::uint64_t max = 0;       ///< numbers and sizes
  const char* choices = "";    ///< texts: "text|json"; empty: any
  Text text = Text::kAny;      ///< texts without choices
  std::uint64_t also = ~0ULL;  ///< a value outside the bounds that has a meaning of its own
  bool live = false;           ///< a reload (SIGHUP) changes it in a running daemon

  std::string flag() const;  ///< "--host-bytes"
  std::string env() const;   ///< "LARDER_HOST_BYTES"
};

/// Keys whose values differ.
std::vector<const ConfigKey*> changed_keys(const Config& before, const Config& after);
/// Copies one key's value.
void copy_key(Config& to, const Config& from, const ConfigKey& key);

/// All of them, in the order of help and `--print-config`.
std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(const std::string& name);

/// Parses and checks `value`. INVALID_ARGUMENT: "KEY = VALUE: must be …".
absl::Status assign(Config& config, const ConfigKey& key, const std::string& value);
/// As a TOML literal.
std::string toml_value(const Config& config, const ConfigKey& key);

/// "4096", "64K", "64KiB", "1.5 GiB": K, M, G and T are powers of 1024. INVALID_ARGUMENT.
absl::StatusOr<Bytes> parse_bytes(const std::string& text);

}  // namespace larder
