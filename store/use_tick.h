#pragma once

#include <cstdint>

#include "store/types.h"

namespace larder {

/// When a block was last referenced, in steps of 10 ms, modulo 2^32 (497 days): four bytes a block.
using UseTick = Id<struct UseTickTag, std::uint32_t>;

inline constexpr Duration kUseTick = std::chrono::milliseconds(10);

inline UseTick use_tick(Time at) {
  return UseTick(static_cast<std::uint32_t>(at.time_since_epoch() / kUseTick));
}

/// Time from `then` to `now`, exact to a step; zero when `then` is later (clocks of two requests).
inline Duration gap(UseTick now, UseTick then) {
  const auto steps = static_cast<std::int32_t>(now.value() - then.value());
  return steps <= 0 ? Duration{0} : steps * kUseTick;
}

}  // namespace larder
