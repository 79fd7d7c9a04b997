// Draws the function, the paths and the balls as SVG. The browser animates the balls without a
// script.
#include "lab/theory/descent_drawing.hpp"

#include "lab/page/axis.hpp"
#include "lab/page/html_text.hpp"
#include "lab/theory/three_minima.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

using page::Axis;
using page::AxisRange;
using page::coordinate;
using page::Scale;

// Units of the drawing.
constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kSeconds = 15;
constexpr double kLow = -4.1;
constexpr double kHigh = 6.2;

std::string place_of(const Axis& x, const Axis& y, double position) {
  return coordinate(x.place(position)) + " " + coordinate(y.place(three_minima(position)));
}

std::string landscape(const Axis& x, const Axis& y) {
  std::string path = "<path class=\"axis\" stroke-width=\"2\" d=\"";
  for (double position = kLow; position <= kHigh; position += 0.02) {
    path += fmt::format("{}{}", position == kLow ? "M" : "L", place_of(x, y, position));
  }
  return path + "\"/>";
}

std::string trail(const DescentPath& path, const Axis& x, const Axis& y) {
  std::string drawn = fmt::format("<path class=\"curve {}\" opacity=\".45\" d=\"", path.style);
  for (std::size_t i = 0; i < path.positions.size(); ++i) {
    drawn += fmt::format("{}{}", i == 0 ? "M" : "L", place_of(x, y, path.positions[i]));
  }
  return drawn + "\"/>";
}

std::string animation(const char* attribute, const std::string& values) {
  return fmt::format(
      "<animate attributeName=\"{}\" dur=\"{}s\" repeatCount=\"indefinite\" values=\"{}\"/>",
      attribute, kSeconds, values);
}

// The ball rests at its end for a fifth of the time.
std::string ball(const DescentPath& path, const Axis& x, const Axis& y) {
  std::string across;
  std::string down;
  const std::size_t frames = path.positions.size() * 5 / 4;
  for (std::size_t i = 0; i < frames; ++i) {
    const double position = path.positions[std::min(i, path.positions.size() - 1)];
    across += fmt::format("{}{}", i == 0 ? "" : ";", coordinate(x.place(position)));
    down += fmt::format("{}{}", i == 0 ? "" : ";", coordinate(y.place(three_minima(position))));
  }
  // Without animation the ball is shown at its end.
  const double end = path.positions.back();
  return fmt::format("<circle class=\"ball {}\" r=\"6\" cx=\"{}", path.style,
                     coordinate(x.place(end))) +
         fmt::format("\" cy=\"{}\">", coordinate(y.place(three_minima(end)))) +
         animation("cx", across) + animation("cy", down) +
         fmt::format("<title>{}</title></circle>", page::escape_html(path.label));
}

}  // namespace

std::string draw_descent(const std::string& title, const std::vector<DescentPath>& paths) {
  AxisRange heights;
  for (double position = kLow; position <= kHigh; position += 0.02) {
    heights.include(three_minima(position));
  }
  const Axis x({kLow, kHigh, false}, Scale::kLinear, 8, kWidth - 8);
  const Axis y(heights, Scale::kLinear, kHeight - 30, 10);
  const std::string name = page::escape_html(title);
  std::string drawn = fmt::format("<figure class=\"descent\"><figcaption>{}</figcaption>", name);
  drawn += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"", kWidth, kHeight);
  drawn += name + "\">" + landscape(x, y);
  for (const page::Tick& tick : x.ticks()) {
    drawn += fmt::format("<text class=\"x\" x=\"{}\" y=\"", coordinate(x.place(tick.value)));
    drawn += fmt::format("{}\">{}</text>", kHeight - 8, tick.text);
  }
  for (const DescentPath& path : paths) {
    drawn += trail(path, x, y);
  }
  for (const DescentPath& path : paths) {
    drawn += ball(path, x, y);
  }
  drawn += "</svg><p class=\"key\">";
  for (const DescentPath& path : paths) {
    drawn +=
        fmt::format("<i class=\"swatch {}\"></i>{}", path.style, page::escape_html(path.label));
    drawn += " ";
  }
  return drawn + "</p></figure>\n";
}

}  // namespace sing::lab::theory
