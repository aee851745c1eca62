#pragma once

#include "store/types.h"

namespace larder {

/// The client library's one look at the clock.
inline Time monotonic_now() {
  return std::chrono::steady_clock::now();
}

}  // namespace larder
