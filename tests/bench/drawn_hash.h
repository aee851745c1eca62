// Block n's hash without keeping the hashes.

#pragma once

#include <cstdint>

#include "store/types.h"

namespace larder {

/// SplitMix64 (Steele, Lea and Flood, 2014) at n and at its complement.
inline BlockHash drawn_hash(std::uint64_t n) {
  const auto mix = [](std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  return {mix(n), mix(~n)};
}

}  // namespace larder
