#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace larder {

struct PlotPoint {
  double capacity = 0;  ///< blocks
  double miss_ratio = 0;
};
struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  ///< by rising capacity
};

/// Miss-ratio curves as one HTML file that needs nothing else: an SVG picture and the same figures
/// as a table below it. Names are anybody's text.
std::string plot_html(const std::string& title, const std::vector<PlotCurve>& curves);

/// UNAVAILABLE with the reason.
absl::Status write_plot(const std::string& path, const std::string& html);

}  // namespace larder
