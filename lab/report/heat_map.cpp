// Draws a small bitmap with one pixel per cell, stretched to size, with names and numbers around it
// as SVG.
#include "lab/report/heat_map.hpp"

#include <algorithm>
#include <cmath>

#include "lab/page/axis.hpp"
#include "lab/page/base64.hpp"
#include "lab/page/html_text.hpp"
#include "lab/picture/color_map.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

// Units of the drawing.
constexpr double kLeft = 190;
constexpr double kWidth = 1000;
constexpr double kRight = kWidth - 90;
constexpr double kTop = 6;
constexpr double kBarWidth = 14;
constexpr double kRowHeight = 11;
constexpr double kMostDecades = 8;

std::string bitmap_element(const page::Bitmap& bitmap, double left, double width, double height) {
  return fmt::format(
      "<image preserveAspectRatio=\"none\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
      "href=\"data:image/bmp;base64,{}\"/>",
      left, kTop, width, height, page::base64(page::bmp_bytes(bitmap)));
}

std::string color_bar(const NormLevels& levels, double height) {
  page::Bitmap bar{
      .width = 1, .height = kTopLevel + 1, .pixels = {}, .colors = levels.bitmap.colors};
  for (int level = kTopLevel; level >= 0; --level) {
    bar.pixels.push_back(static_cast<std::uint8_t>(level));
  }
  std::string drawn = bitmap_element(bar, kRight + 12, kBarWidth, height);
  const page::Axis axis({levels.low, levels.high, false}, page::Scale::kLog, kTop + height, kTop);
  for (const page::Tick& tick : axis.ticks()) {
    drawn += fmt::format("<text x=\"{}\" y=\"", kRight + 12 + kBarWidth + 5);
    drawn += page::coordinate(axis.place(tick.value)) + "\" dy=\".35em\">" + tick.text + "</text>";
  }
  return drawn;
}

std::string row_names(const LayerNorms& norms) {
  std::string drawn;
  for (std::size_t layer = 0; layer < norms.layers.size(); ++layer) {
    const double middle = kTop + kRowHeight * (static_cast<double>(layer) + 0.5);
    drawn += fmt::format("<text class=\"y\" x=\"{}\" y=\"{}", kLeft - 6, page::coordinate(middle));
    drawn += fmt::format("\" dy=\".35em\">{}</text>", page::escape_html(norms.layers[layer]));
  }
  return drawn;
}

std::string step_ticks(const LayerNorms& norms, double height) {
  const std::size_t columns = norms.steps.size();
  const std::size_t stride = std::max<std::size_t>(1, (columns + 7) / 8);
  std::string drawn;
  for (std::size_t column = 0; column < columns; column += stride) {
    const double place = kLeft + (kRight - kLeft) * (static_cast<double>(column) + 0.5) /
                                     static_cast<double>(columns);
    drawn += fmt::format("<text class=\"x\" x=\"{}\" y=\"{}", page::coordinate(place),
                         kTop + height + 14);
    drawn += "\">" + page::short_number(static_cast<double>(norms.steps[column]), 9) + "</text>";
  }
  return drawn;
}

std::string joined_steps(const LayerNorms& norms) {
  std::string text;
  for (const std::int64_t step : norms.steps) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", step);
  }
  return text;
}

}  // namespace

NormLevels norm_levels(const LayerNorms& norms) {
  page::AxisRange range;
  for (const double value : norms.values) {
    if (value > 0) {
      range.include(value);
    }
  }
  NormLevels levels{.low = std::max(range.low, range.high * std::pow(10, -kMostDecades)),
                    .high = range.high,
                    .bitmap = {.width = norms.steps.size(), .height = norms.layers.size()}};
  if (range.empty) {
    levels.low = levels.high = 1;
  }
  if (levels.high < 1.05 * levels.low) {  // a single value gets the middle color
    levels.low /= 2;
    levels.high *= 2;
  }
  for (int level = 0; level <= kTopLevel; ++level) {
    levels.bitmap.colors[static_cast<std::size_t>(level)] =
        picture::scale_color(1.0 * level / kTopLevel);
  }
  levels.bitmap.colors[kNotFinite] = {230, 30, 30};
  levels.bitmap.colors[kNothing] = {128, 128, 128};
  for (const double value : norms.values) {
    std::uint8_t level = kNothing;
    if (value >= 0 && std::isfinite(value)) {
      const double share =
          value > 0 ? std::log(value / levels.low) / std::log(levels.high / levels.low) : 0;
      level = static_cast<std::uint8_t>(std::lround(kTopLevel * std::clamp(share, 0.0, 1.0)));
    } else if (!std::isnan(value)) {
      level = kNotFinite;
    }
    levels.bitmap.pixels.push_back(level);
  }
  return levels;
}

std::string draw_heat_map(const LayerNorms& norms) {
  if (norms.values.empty()) {
    return {};
  }
  const NormLevels levels = norm_levels(norms);
  const double height = kRowHeight * static_cast<double>(norms.layers.size());
  // The numbers of the color bar need a height of at least 40 units.
  std::string drawn = fmt::format(
      "<figure class=\"heat\"><figcaption>Gradient norm by layer over steps <small>logarithmic; "
      "red: not finite, gray: not recorded</small></figcaption><svg viewBox=\"0 0 {} {}\" "
      "role=\"img\" aria-label=\"Gradient norm by layer over steps\"",
      kWidth, kTop + std::max(height, 40.0) + 36);
  drawn +=
      fmt::format(" data-levels=\"{} {}", shortest_text(levels.low), shortest_text(levels.high));
  drawn +=
      fmt::format(" {} {}\" data-box=\"{} {} ", int{kTopLevel}, page::kBitmapHeader, kLeft, kTop);
  drawn += fmt::format("{} {}\" data-steps=\"{}\">", kRight - kLeft, height, joined_steps(norms));
  drawn += row_names(norms) + bitmap_element(levels.bitmap, kLeft, kRight - kLeft, height);
  drawn += color_bar(levels, std::max(height, 40.0)) + step_ticks(norms, height);
  drawn +=
      fmt::format("<text class=\"x\" x=\"{}\" y=\"{}", (kLeft + kRight) / 2, kTop + height + 30);
  return drawn + "\">step</text></svg></figure>\n";
}

}  // namespace sing::lab::report
