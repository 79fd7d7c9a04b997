// Writes the curves of a chart as JSON, which the page's script draws with dygraphs.
#include "lab/page/line_chart.hpp"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::page {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPoints = 400;

bool is_drawable(const CurvePoint& point, Scale scale) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (scale != Scale::kLog || point.y > 0);
}

// Six digits are more than a screen shows.
double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

// A point is [x, y], or [x, y, low, high] if it stands for several values; a gap is [x].
json points_of(const Curve& curve, Scale scale) {
  json points = json::array();
  for (const CurvePoint& point : thin_curve(curve.points, kMostPoints)) {
    if (!std::isfinite(point.x)) {
      continue;
    }
    json& added = points.emplace_back(json::array({rounded(point.x)}));
    if (is_drawable(point, scale)) {
      added.push_back(rounded(point.y));
      if (point.low < point.high) {
        added.push_back(rounded(scale == Scale::kLog && point.low <= 0 ? point.y : point.low));
        added.push_back(rounded(point.high));
      }
    }
  }
  return points;
}

// Returns the text of a value that is safe inside a script element.
std::string script_text(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

}  // namespace

std::string draw_line_chart(const ChartOptions& options, const std::vector<Curve>& curves) {
  json drawn = json::array();
  bool has_point = false;
  for (const Curve& curve : curves) {
    json points = points_of(curve, options.y_scale);
    for (const json& point : points) {
      has_point = has_point || point.size() > 1;
    }
    drawn.push_back({{"label", curve.label},
                     {"style", curve.style},
                     {"diverged", curve.diverged},
                     {"points", std::move(points)}});
  }
  if (!has_point) {
    return {};
  }
  const bool is_log = options.y_scale == Scale::kLog;
  const std::string title = escape_html(options.title);
  return fmt::format(
      "<figure class=\"chart\"><figcaption>{}{}</figcaption>"
      "<div class=\"plot\" style=\"width:100%;height:18rem\" role=\"img\" aria-label=\"{}\"></div>"
      "<script type=\"application/json\">{}</script></figure>\n",
      title, is_log ? " <small>logarithmic</small>" : "", title,
      script_text({{"x", options.x_label},
                   {"log", {options.x_scale == Scale::kLog, is_log}},
                   {"zero", options.from_zero},
                   {"curves", std::move(drawn)}}));
}

std::string draw_keyed_chart(const ChartOptions& options, const std::vector<Curve>& curves) {
  const std::string chart = draw_line_chart(options, curves);
  if (chart.empty()) {
    return {};
  }
  std::string drawn = "<div>" + chart + "<p class=\"key\">";
  for (const Curve& curve : curves) {
    drawn += fmt::format("<i class=\"swatch {}\"></i>", curve.style);
    drawn += escape_html(curve.label) + " ";
  }
  return drawn + "</p></div>\n";
}

}  // namespace sing::lab::page
