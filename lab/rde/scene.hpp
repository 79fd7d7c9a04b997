// Defines an RDE image as a list of rectangles, before it is rendered.
#pragma once

#include <array>
#include <cstdint>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Covers pixels left … right − 1 of rows top … bottom − 1. The sides lie on the lines x = left,
// x = right, y = top and y = bottom.
struct Rectangle {
  int left, top, right, bottom;

  bool operator==(const Rectangle&) const = default;
};

// Rectangle k of 1 … count is drawn k-th and covers earlier ones; index 0 is the background.
struct Scene {
  int count = 0;
  int image_size = 0;
  std::array<Rectangle, kMaxRectangles + 1> rectangles{};
  std::array<float, kMaxRectangles + 1> greys{};
  std::array<std::uint8_t, kMaxRectangles + 1> heights{};  // 0 until set_heights()
};

// Gray values are multiples of 2⁻¹⁶, exact in float, in [0.2, 1] and at least 0.03 apart.
inline constexpr std::uint32_t kGreyUnits = 65536;
inline constexpr std::uint32_t kDarkestGrey = 13108;
inline constexpr std::uint32_t kGreyDistance = 1967;

// Draws the rectangles of attempt `attempt` at image `index` of `seed`, without applying any rule.
Scene draw_rectangles(const RdeOptions& options, std::uint64_t seed, std::uint64_t index,
                      std::uint32_t attempt);

// Draws the gray values of image `index`, independent of its rectangles and the attempt.
void draw_greys(Scene& scene, std::uint64_t seed, std::uint64_t index);

}  // namespace sing::lab::rde
