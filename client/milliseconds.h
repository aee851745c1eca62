#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "store/types.h"

namespace larder {

/// The longest time that a frame can say, 49.7 days: the client's deadlines are cut to it.
inline constexpr Duration kLongest =
    std::chrono::milliseconds(std::numeric_limits<std::uint32_t>::max());

/// A time as frames say it, rounded up and within 1 ms and kLongest: 0 is never said, because the
/// daemon reads it as its own default, or as for ever.
inline std::uint32_t to_ms(Duration time) {
  const Duration said = std::clamp<Duration>(time, std::chrono::milliseconds(1), kLongest);
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(said).count());
}

}  // namespace larder
