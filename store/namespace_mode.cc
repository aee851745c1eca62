#include "store/namespace_mode.h"

#include <algorithm>
#include <array>

namespace larder {

namespace {

constexpr std::array<std::string_view, 5> kNames = {"default", "on", "guarded", "shadow", "off"};

}  // namespace

std::string_view name_of(NamespaceMode mode) {
  return kNames.at(static_cast<std::size_t>(mode));
}

std::optional<NamespaceMode> parse_namespace_mode(std::string_view word) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), word);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NamespaceMode>(found - kNames.begin());
}

}  // namespace larder
