#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace larder {

/// Nearest-rank percentile, exact; 0 of nothing. O(n), on a copy.
inline double percentile(std::vector<float> values, double percent) {
  if (values.empty()) return 0;
  const double rank = percent / 100 * static_cast<double>(values.size() - 1) + 0.5;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace larder
