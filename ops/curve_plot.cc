#include "ops/curve_plot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace larder {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 520;
constexpr double kLeft = 70;
constexpr double kRight = 150;  // the names stand here
constexpr double kTop = 50;
constexpr double kBottom = 60;
constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#56b4e9", "#e69f00", "#333333", "#999933"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = c != '<' && c != '>' && c != '&' && c != '"' && c != '\'';
    out += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out;
}

/// From figures to places in the picture: capacities by their logarithm, ratios from 0 to 1.
class Scale {
 public:
  explicit Scale(const std::vector<PlotCurve>& curves) {
    for (const PlotCurve& curve : curves) {
      for (const PlotPoint& point : curve.points) {
        least_ = std::min(least_, point.capacity);
        most_ = std::max(most_, point.capacity);
      }
    }
    if (most_ < least_) least_ = most_ = 1;
    if (least_ == most_) most_ = least_ * 10;
  }
  double x(double capacity) const {
    const double part = std::log(capacity / least_) / std::log(most_ / least_);
    return kLeft + part * (kWidth - kLeft - kRight);
  }
  double y(double ratio) const { return kTop + (1 - ratio) * (kHeight - kTop - kBottom); }
  double least() const { return least_; }
  double most() const { return most_; }

 private:
  double least_ = 1e300;
  double most_ = 0;
};

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string axes(const Scale& scale) {
  std::string out;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const double y = scale.y(tenth / 10.0);
    out += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       kLeft, kWidth - kRight, y, y);
    out += text_at(kLeft - 8, y + 4, "end", fmt::format("{:.1f}", tenth / 10.0));
  }
  for (double decade = 1; decade <= scale.most(); decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double capacity = decade * step;
      if (capacity < scale.least() || capacity > scale.most()) continue;
      const double x = scale.x(capacity);
      out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>\n",
                         x, x, kTop, kHeight - kBottom);
      out += text_at(x, kHeight - kBottom + 18, "middle", fmt::format("{:.0f}", capacity));
    }
  }
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 15, "middle", "capacity, blocks");
  return out + text_at(kLeft, kTop - 12, "middle", "miss ratio");
}

std::string line_of(const PlotCurve& curve, const Scale& scale, std::size_t number) {
  const std::string_view colour = kColours[number % kColours.size()];
  std::string places;
  std::string dots;
  for (const PlotPoint& point : curve.points) {
    const double x = scale.x(point.capacity);
    const double y = scale.y(point.miss_ratio);
    places += fmt::format("{:.1f},{:.1f} ", x, y);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"><title>{}: {:.0f} blocks, miss "
        "{:.4f}</title></circle>\n",
        x, y, colour, escaped(curve.name), point.capacity, point.miss_ratio);
  }
  const double y = kTop + 18 * static_cast<double>(number);
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}",
                     places, colour, dots) +
         fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
                     kWidth - kRight + 16, y - 5, colour) +
         text_at(kWidth - kRight + 36, y, "start", curve.name);
}

std::string table_of(const std::vector<PlotCurve>& curves) {
  std::string out = "<table>\n<tr><th>policy</th><th>blocks</th><th>miss ratio</th></tr>\n";
  for (const PlotCurve& curve : curves) {
    for (const PlotPoint& point : curve.points) {
      out += fmt::format("<tr><td>{}</td><td>{:.0f}</td><td>{:.4f}</td></tr>\n",
                         escaped(curve.name), point.capacity, point.miss_ratio);
    }
  }
  return out + "</table>\n";
}

}  // namespace

std::string plot_html(const std::string& title, const std::vector<PlotCurve>& curves) {
  const Scale scale(curves);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body{{font:14px sans-serif;margin:2em}}text{{font:12px sans-serif}}"
      ".grid{{stroke:#ddd}}td,th{{padding:2px 12px;text-align:right}}</style></head>\n"
      "<body><h1>{0}</h1>\n<svg viewBox=\"0 0 {1} {2}\" width=\"{1}\" height=\"{2}\" "
      "role=\"img\">\n",
      escaped(title), kWidth, kHeight);
  out += axes(scale);
  for (std::size_t n = 0; n < curves.size(); ++n)
    out += line_of(curves[n], scale, n);
  return out + "</svg>\n" + table_of(curves) + "</body></html>\n";
}

absl::Status write_plot(const std::string& path, const std::string& html) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  bool written = file != nullptr;
  if (file != nullptr) {
    written = std::fwrite(html.data(), 1, html.size(), file) == html.size();
    written = std::fclose(file) == 0 && written;
  }
  if (written) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace larder
