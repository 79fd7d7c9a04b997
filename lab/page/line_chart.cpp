// Draws axes, grid and curves as SVG. The page's script reads the curves from the paths.
#include "lab/page/line_chart.hpp"

#include <algorithm>
#include <cmath>

#include "lab/page/html_text.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::page {
namespace {

// Units of the drawing.
constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 64;
constexpr double kRight = 628;
constexpr double kTop = 10;
constexpr double kBottom = 256;
constexpr std::size_t kMostPoints = 400;
constexpr std::size_t kMostMarkers = 40;

bool is_drawable(const CurvePoint& point, Scale scale) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (scale != Scale::kLog || point.y > 0);
}

void include(const std::vector<Curve>& curves, bool diverged, Scale scale, AxisRange& range) {
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      if (curve.diverged == diverged && is_drawable(point, scale)) {
        range.include(point.y);
        range.include(point.high);
        range.include(scale == Scale::kLog && point.low <= 0 ? point.y : point.low);
      }
    }
  }
}

AxisRange range_of_x(const std::vector<Curve>& curves, const ChartOptions& options) {
  AxisRange range;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      if (is_drawable(point, options.y_scale)) {
        range.include(point.x);
      }
    }
  }
  if (!range.empty && options.x_scale == Scale::kLinear) {
    range.include(0);
  }
  return range;
}

AxisRange range_of_y(const std::vector<Curve>& curves, const ChartOptions& options) {
  AxisRange range;
  include(curves, false, options.y_scale, range);
  if (range.empty) {
    include(curves, true, options.y_scale, range);
  }
  if (options.from_zero && !range.empty) {
    range.include(0);
    range.high = range.high > 0 ? range.high : 1;
  }
  if (options.y_scale == Scale::kLog) {
    range.low /= 1.1;
    range.high *= 1.1;
  } else {
    range.high += 0.03 * (range.high - range.low);
  }
  return range;
}

std::string attribute(const char* name, const Axis& axis) {
  return fmt::format(" data-{}=\"{}{} {} {} {}\"", name,
                     axis.scale() == Scale::kLog ? "log " : "linear ", shortest_text(axis.low()),
                     shortest_text(axis.high()), coordinate(axis.from()), coordinate(axis.to()));
}

std::string grid(const Axis& x, const Axis& y, const std::string& x_label) {
  std::string drawn;
  for (const Tick& tick : y.ticks()) {
    const std::string place = coordinate(y.place(tick.value));
    drawn += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>", kLeft, place, kRight);
    drawn += fmt::format("<text class=\"y\" x=\"{}\" y=\"{}\" dy=\".35em\">", kLeft - 6, place);
    drawn += tick.text + "</text>";
  }
  for (const Tick& tick : x.ticks()) {
    const std::string place = coordinate(x.place(tick.value));
    drawn += fmt::format("<path class=\"grid\" d=\"M{} {}V{}\"/>", place, kTop, kBottom + 4);
    drawn += fmt::format("<text class=\"x\" x=\"{}\" y=\"{}\">", place, kBottom + 18);
    drawn += tick.text + "</text>";
  }
  drawn += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>", kLeft, kTop, kBottom, kRight);
  drawn += fmt::format("<text class=\"x\" x=\"{}\" y=\"{}\">", (kLeft + kRight) / 2, kBottom + 36);
  return drawn + escape_html(x_label) + "</text>";
}

std::string pair_of(double x, double y) { return coordinate(x) + " " + coordinate(y); }

// Coordinates beyond this bound make browsers lose the rest of a curve. The page's script uses the
// same bound.
constexpr double kFarthest = 1e5;
double within_reach(double y) { return std::clamp(y, -kFarthest, kFarthest); }

std::string curve_path(const Curve& curve, const Axis& x, const Axis& y) {
  std::string path;
  bool pen_down = false;
  for (const CurvePoint& point : curve.points) {
    const bool drawable = is_drawable(point, y.scale());
    if (drawable) {
      path += pen_down ? "L" : "M";
      path += pair_of(x.place(point.x), within_reach(y.place(point.y)));
    }
    pen_down = drawable;
  }
  return path;
}

std::string band_path(const Curve& curve, const Axis& x, const Axis& y) {
  std::string upper;
  std::string lower;
  for (const CurvePoint& point : curve.points) {
    if (is_drawable(point, y.scale())) {
      const double low = y.scale() == Scale::kLog ? std::max(point.low, y.low() / 10) : point.low;
      const double place = x.place(point.x);
      upper += fmt::format("{}{}", upper.empty() ? "M" : "L",
                           pair_of(place, within_reach(y.place(point.high))));
      lower.insert(0, fmt::format("L{}", pair_of(place, within_reach(y.place(low)))));
    }
  }
  return upper + lower + "Z";
}

bool has_band(const Curve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(),
                     [](const CurvePoint& point) { return point.low < point.high; });
}

std::string title(const Curve& curve, const CurvePoint& point) {
  return fmt::format("<title>{}: {} at {}</title>", escape_html(curve.label), short_number(point.y),
                     short_number(point.x, 6));
}

std::string draw_curve(const Curve& whole, const Axis& x, const Axis& y) {
  Curve curve = whole;
  curve.points = thin_curve(whole.points, kMostPoints);
  const std::string style = escape_html(curve.style);
  const std::string path = curve_path(curve, x, y);
  if (path.empty()) {
    return {};
  }
  std::string drawn;
  if (has_band(curve)) {
    drawn += fmt::format("<path class=\"band {}\" d=\"{}\"/>", style, band_path(curve, x, y));
  }
  drawn += fmt::format("<path class=\"curve {}\" data-label=\"{}", style, escape_html(curve.label));
  drawn += fmt::format("\" d=\"{}\"/>", path);
  const CurvePoint* last = nullptr;
  for (const CurvePoint& point : curve.points) {
    if (!is_drawable(point, y.scale())) {
      continue;
    }
    last = &point;
    if (curve.points.size() <= kMostMarkers) {
      drawn += fmt::format("<circle class=\"{}\" r=\"2.5\" cx=\"{}", style,
                           coordinate(x.place(point.x)));
      drawn += fmt::format("\" cy=\"{}\">", coordinate(within_reach(y.place(point.y))));
      drawn += title(curve, point) + "</circle>";
    }
  }
  if (curve.diverged) {
    const double height = std::clamp(y.place(last->y), kTop + 6, kBottom - 6);
    drawn += fmt::format("<text class=\"diverged {}\" x=\"{}", style, coordinate(x.place(last->x)));
    drawn += fmt::format("\" y=\"{}\" dy=\".35em\">✕{}", coordinate(height), title(curve, *last));
    drawn += "</text>";
  }
  return drawn;
}

}  // namespace

std::string draw_line_chart(const ChartOptions& options, const std::vector<Curve>& curves) {
  const AxisRange x_range = range_of_x(curves, options);
  if (x_range.empty) {
    return {};
  }
  const Axis x(x_range, options.x_scale, kLeft, kRight);
  const Axis y(range_of_y(curves, options), options.y_scale, kBottom, kTop);
  const std::string name = escape_html(options.title);
  std::string drawn = fmt::format("<figure class=\"chart\"><figcaption>{}", name);
  drawn += y.scale() == Scale::kLog ? " <small>logarithmic</small>" : "";
  drawn += fmt::format("</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\"", kWidth, kHeight);
  drawn += fmt::format(" aria-label=\"{}\"{}{}", name, attribute("x", x), attribute("y", y));
  drawn += fmt::format(" data-name=\"{}\">", escape_html(options.x_label));
  drawn += grid(x, y, options.x_label);
  // The inner drawing clips the points of a diverged run that are outside the range. The margin of
  // 4 is slightly more than half a marker.
  drawn +=
      fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}", kLeft - 4, kTop - 4, kRight - kLeft + 8);
  drawn += fmt::format("\" height=\"{}\" viewBox=\"{} {}", kBottom - kTop + 8, kLeft - 4, kTop - 4);
  drawn += fmt::format(" {} {}\">", kRight - kLeft + 8, kBottom - kTop + 8);
  for (const Curve& curve : curves) {
    drawn += draw_curve(curve, x, y);
  }
  return drawn + "</svg></svg></figure>\n";
}

}  // namespace sing::lab::page
