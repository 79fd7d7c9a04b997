// Draws gradient norms by layer over time.
#pragma once

#include <string>

#include "lab/page/bitmap.hpp"
#include "lab/report/layer_norms.hpp"

namespace sing::lab::report {

// The colors of levels 0 … kTopLevel are spread over the logarithm of low … high.
inline constexpr std::uint8_t kTopLevel = 253;
inline constexpr std::uint8_t kNotFinite = 254;
inline constexpr std::uint8_t kNothing = 255;

struct NormLevels {
  double low = 0;
  double high = 0;
  page::Bitmap bitmap;
};

// Zero and norms more than eight powers of ten below the largest are level 0.
NormLevels norm_levels(const LayerNorms& norms);

// Returns "" if there are no norms.
std::string draw_heat_map(const LayerNorms& norms);

}  // namespace sing::lab::report
