// The arithmetic of "haz": how likely a block is used again, by the time since it was used last.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace larder {

/// Ages (seconds since the last use) fall into bins: [0, 1), then two an octave.
inline constexpr int kAgeBins = 36;
using AgeRow = std::array<float, kAgeBins>;

inline int age_bin(float seconds) {
  if (!(seconds >= 1)) return 0;
  const auto half_octaves = static_cast<int>(std::bit_cast<std::uint32_t>(seconds * seconds) >> 23);
  return std::min(half_octaves - 127 + 1, kAgeBins - 1);
}
/// Lower edge of bin n, n up to kAgeBins.
float age_edge(int bin);

/// What was seen of blocks of one kind: how often they were used again at which age (`reuses`) and
/// at which age they stopped being looked at, for that or another reason (`ends`; `beyond`: seconds
/// past the bin's lower edge). Weights are those of prompts, not of blocks.
struct ReuseCounts {
  AgeRow reuses{};
  AgeRow ends{};
  AgeRow beyond{};

  void end(float age, float weight) {
    const int bin = age_bin(age);
    ends[static_cast<std::size_t>(bin)] += weight;
    beyond[static_cast<std::size_t>(bin)] += weight * (age - age_edge(bin));
  }
  void reuse(float age, float weight) { reuses[static_cast<std::size_t>(age_bin(age))] += weight; }
};

/// Reuses and seconds at risk by age: what a hazard is a ratio of.
struct ReuseRisk {
  AgeRow reuses{};
  AgeRow seconds{};

  void add(const ReuseRisk& other);
};

/// Kaplan and Meier 1958: blocks still waiting (`alive`) are at risk up to their age, no more.
ReuseRisk risk_of(const ReuseCounts& counts, const ReuseCounts& alive);

/// Reuses a second by age.
struct Hazard {
  AgeRow rate{};

  /// What is assumed of blocks of which nothing is known: the older, the less likely.
  static Hazard prior();
  /// From `risk`, leaning on `broader` as if that many prompts had been seen: first its scale, then
  /// its shape.
  static Hazard estimate(const ReuseRisk& risk, const Hazard& broader);
  /// At the start of each bin, max over horizons of P(reuse) / E[seconds kept]: Gittins' index.
  AgeRow values() const;
  /// The same for a block that is new, whose insertion costs as much as keeping it for `cost`
  /// seconds.
  float value_of_new(float cost) const;
};

}  // namespace larder
