#pragma once

#include <chrono>
#include <thread>

#include "store/types.h"

namespace larder::test {

/// Whether `condition` comes true within the time; it is looked at every few milliseconds.
template <class Condition>
bool eventually(Condition condition, Duration within = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace larder::test
