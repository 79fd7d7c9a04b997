// Maps numbers to colors: grays, a scale from low to high, and distinct colors for a few things.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lab/picture/picture.hpp"

namespace sing::lab::picture {

inline std::uint8_t color_byte(double value) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

inline Color grey_color(double value) {
  const std::uint8_t byte = color_byte(value);
  return {byte, byte, byte};
}

// Maps 0 … 1 to colors from dark violet to yellow, through nine points of matplotlib's "viridis".
inline Color scale_color(double value) {
  constexpr std::array<Color, 9> kPoints = {{{68, 1, 84},
                                             {71, 44, 122},
                                             {59, 81, 139},
                                             {44, 113, 142},
                                             {33, 144, 141},
                                             {39, 173, 129},
                                             {92, 200, 99},
                                             {170, 220, 50},
                                             {253, 231, 37}}};
  const double place = std::clamp(value, 0.0, 1.0) * (kPoints.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(place), kPoints.size() - 2);
  const double share = place - static_cast<double>(left);
  Color color{};
  for (std::size_t channel = 0; channel < color.size(); ++channel) {
    const double mixed = kPoints[left][channel] * (1 - share) + kPoints[left + 1][channel] * share;
    color[channel] = static_cast<std::uint8_t>(std::lround(mixed));
  }
  return color;
}

// Color 0 is black. Colors 1 to 7 are those of Okabe and Ito (2008); later ones repeat them darker.
inline Color distinct_color(std::size_t index) {
  constexpr std::array<Color, 7> kColors = {{{230, 159, 0},
                                             {86, 180, 233},
                                             {0, 158, 115},
                                             {240, 228, 66},
                                             {0, 114, 178},
                                             {213, 94, 0},
                                             {204, 121, 167}}};
  if (index == 0) {
    return {0, 0, 0};
  }
  Color color = kColors[(index - 1) % kColors.size()];
  for (std::uint8_t& channel : color) {
    channel = static_cast<std::uint8_t>(channel / (1 + (index - 1) / kColors.size()));
  }
  return color;
}

}  // namespace sing::lab::picture
