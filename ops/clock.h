#pragma once

#include <chrono>

#include "store/types.h"

namespace larder {

/// The only clock of ops/.
inline Time clock_now() {
  return std::chrono::steady_clock::now();
}

inline double seconds_between(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}
inline float us_between(Time from, Time to) {
  return std::chrono::duration<float, std::micro>(to - from).count();
}

}  // namespace larder
