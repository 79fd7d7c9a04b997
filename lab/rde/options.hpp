// Defines the options of the RDE images.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::rde {

inline constexpr int kMaxRectangles = 16;

// kChain: rectangle k visibly touches rectangle k − 1, so that its height is k.
enum class Labels : std::int32_t { kStack, kChain };

constexpr auto enum_names(Labels) {
  return std::to_array<EnumName<Labels>>({{Labels::kStack, "stack"}, {Labels::kChain, "chain"}});
}

struct RdeOptions {
  std::int64_t rectangles = 4;
  std::int64_t image_size = 128;
  std::int64_t min_side = 32;
  std::int64_t max_side = 96;
  std::int64_t min_visible = 250;
  Labels labels = Labels::kStack;

  static constexpr auto fields() {
    return std::tuple{
        field("rectangles", &RdeOptions::rectangles, "rectangles in an image",
              between(1, kMaxRectangles)),
        field("image_size", &RdeOptions::image_size, "pixels per side of the image",
              between(4, 4096)),
        field("min_side", &RdeOptions::min_side, "shortest side of a rectangle", at_least(1)),
        field("max_side", &RdeOptions::max_side, "longest side of a rectangle", at_least(1)),
        field("min_visible", &RdeOptions::min_visible, "fewest visible pixels of a rectangle",
              at_least(1)),
        field("labels", &RdeOptions::labels,
              "stack: any contacts; chain: rectangle k touches rectangle k - 1")};
  }
};

// Throws std::invalid_argument for a value outside its bounds or sides that do not fit.
void check(const RdeOptions& options);

}  // namespace sing::lab::rde
