#include "actors/log_level.h"

#include <algorithm>
#include <array>

namespace larder {

spdlog::level::level_enum level_of(std::string_view line) {
  constexpr std::array<std::string_view, 2> kErrors = {"_corrupt", "_lost"};
  constexpr std::array<std::string_view, 5> kWarnings = {"_refused", "_failed", "_set_aside",
                                                         "_restarted", "_needs_restart"};
  if (line.starts_with("audit action=Hello ")) return spdlog::level::debug;
  const std::string_view event = line.substr(0, line.find(' '));
  const auto ends = [event](std::string_view suffix) { return event.ends_with(suffix); };
  if (std::any_of(kErrors.begin(), kErrors.end(), ends)) return spdlog::level::err;
  const bool failed = std::any_of(kWarnings.begin(), kWarnings.end(), ends) ||
                      event.find("_not_") != std::string_view::npos ||
                      line.ends_with(" reason=pressure");
  return failed ? spdlog::level::warn : spdlog::level::info;
}

}  // namespace larder
