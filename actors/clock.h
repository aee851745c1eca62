#pragma once

#include <chrono>

#include "store/types.h"

namespace larder {

/// The only reads of a clock in the daemon. Everything else is given its time.
inline Time now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

/// Wall time in nanoseconds since 1970, for expiry only.
inline std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace larder
