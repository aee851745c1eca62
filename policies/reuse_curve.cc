#include "policies/reuse_curve.h"

#include <algorithm>
#include <cmath>

namespace larder {

namespace {

constexpr double kPriorRate = 0.05;  ///< reuses a second at one second, falling with 1 / age
constexpr double kScalePrompts = 1;  ///< what the broader kind weighs for the curve's scale …
constexpr double kShapePrompts = 4;  ///< … and for its shape, a bin

constexpr std::size_t at(int bin) {
  return static_cast<std::size_t>(bin);
}

std::array<float, kAgeBins + 1> make_edges() {
  std::array<float, kAgeBins + 1> edges{};
  for (int bin = 1; bin <= kAgeBins; ++bin)
    edges[at(bin)] = std::exp2(0.5F * static_cast<float>(bin - 1));
  return edges;
}
const std::array<float, kAgeBins + 1> kEdges = make_edges();

double width(int bin) {
  return kEdges[at(bin + 1)] - kEdges[at(bin)];
}

/// Of who enters a bin: the share that leaves it not reused, and the seconds spent in it.
struct Passage {
  double left;
  double seconds;
};
Passage pass(double rate, int bin) {
  const double expected = rate * width(bin);
  if (expected < 0.01) {
    return {1 - expected + 0.5 * expected * expected, width(bin) * (1 - 0.5 * expected)};
  }
  const double left = std::exp(static_cast<float>(-expected));  // of floats: a third of the time
  return {left, (1 - left) / rate};
}

}  // namespace

float age_edge(int bin) {
  return kEdges[at(bin)];
}

void ReuseRisk::add(const ReuseRisk& other) {
  for (std::size_t n = 0; n < reuses.size(); ++n) {
    reuses[n] += other.reuses[n];
    seconds[n] += other.seconds[n];
  }
}

ReuseRisk risk_of(const ReuseCounts& counts, const ReuseCounts& alive) {
  ReuseRisk risk;
  risk.reuses = counts.reuses;
  double older = 0;
  for (int bin = kAgeBins - 1; bin >= 0; --bin) {
    const double inside = double{counts.beyond[at(bin)]} + double{alive.beyond[at(bin)]};
    risk.seconds[at(bin)] = static_cast<float>(older * width(bin) + inside);
    older += double{counts.ends[at(bin)]} + double{alive.ends[at(bin)]};
  }
  return risk;
}

Hazard Hazard::prior() {
  Hazard hazard;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const double middle = std::max(0.5 * double{kEdges[at(bin)] + kEdges[at(bin + 1)]}, 1.0);
    hazard.rate[at(bin)] = static_cast<float>(kPriorRate / middle);
  }
  return hazard;
}

Hazard Hazard::estimate(const ReuseRisk& risk, const Hazard& broader) {
  double seen = 0;
  double expected = 0;
  for (std::size_t n = 0; n < risk.reuses.size(); ++n) {
    seen += risk.reuses[n];
    expected += double{risk.seconds[n]} * broader.rate[n];
  }
  const double scale = (seen + kScalePrompts) / (expected + kScalePrompts);
  Hazard out;
  for (std::size_t n = 0; n < risk.reuses.size(); ++n) {
    const double assumed = broader.rate[n] * scale;
    out.rate[n] = static_cast<float>((risk.reuses[n] + kShapePrompts) /
                                     (risk.seconds[n] + kShapePrompts / assumed));
  }
  return out;
}

AgeRow Hazard::values() const {
  // With Q the share not reused up to an edge and F the seconds kept until then, the index is the
  // steepest slope (Q - Q') / (F' - F) to a later edge: the next corner of a convex hull.
  std::array<double, kAgeBins + 1> waiting{};
  std::array<double, kAgeBins + 1> kept{};
  waiting[0] = 1;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const Passage passage = pass(rate[at(bin)], bin);
    kept[at(bin + 1)] = kept[at(bin)] + waiting[at(bin)] * passage.seconds;
    waiting[at(bin + 1)] = waiting[at(bin)] * passage.left;
  }
  const auto slope = [&](int from, int to) {
    const double seconds = kept[at(to)] - kept[at(from)];
    return seconds > 0 ? (waiting[at(from)] - waiting[at(to)]) / seconds : 0;
  };
  AgeRow values{};
  std::array<int, kAgeBins + 1> corner{};
  corner[kAgeBins] = kAgeBins;
  for (int bin = kAgeBins - 1; bin >= 0; --bin) {
    int next = bin + 1;
    while (corner[at(next)] != next && slope(bin, corner[at(next)]) >= slope(bin, next))
      next = corner[at(next)];
    corner[at(bin)] = next;
    // Of so few still waiting that the slopes are noise: as they are used now.
    const bool few = waiting[at(bin)] < 1e-9;
    values[at(bin)] = few ? rate[at(bin)] : static_cast<float>(slope(bin, next));
  }
  return values;
}

float Hazard::value_of_new(float cost) const {
  double waiting = 1;
  double kept = cost;
  double best = 0;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const Passage passage = pass(rate[at(bin)], bin);
    kept += waiting * passage.seconds;
    waiting *= passage.left;
    best = std::max(best, (1 - waiting) / kept);
  }
  return static_cast<float>(best);
}

}  // namespace larder
