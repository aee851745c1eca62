#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace larder {

/// How a namespace is served. The values are those of the wire.
enum class NamespaceMode : std::uint8_t {
  kDefault = 0,  ///< as the node's configuration says
  kOn = 1,
  kGuarded = 2,  ///< on, until one of its blocks is found corrupt: then off
  kShadow = 3,   ///< stores and counts hits, but answers that nothing is there
  kOff = 4,      ///< stores nothing, and answers that nothing is there
};

/// "default", "on", "guarded", "shadow", "off".
std::string_view name_of(NamespaceMode mode);
/// None for any other word.
std::optional<NamespaceMode> parse_namespace_mode(std::string_view word);

/// True when matches, gets and waits see what is stored.
constexpr bool serves(NamespaceMode mode) {
  return mode == NamespaceMode::kOn || mode == NamespaceMode::kGuarded;
}

}  // namespace larder
