// Defines the augmentation of one small image as a few integers: its crop, flip and rotation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::image {

struct AugmentOptions {
  std::int64_t pad = 4;
  bool mirror = false;
  double rotation = 15;

  static constexpr auto fields() {
    using A = AugmentOptions;
    return std::tuple{
        field("pad", &A::pad,
              "black padding on each side, in pixels, before a random crop of the image's size",
              between(0, 1024)),
        field("mirror", &A::mirror, "flip each image horizontally with probability 1/2"),
        field("rotation", &A::rotation, "rotate by up to this many degrees to either side",
              between(0, 180))};
  }
};

// Columns of the parameter table, int32 [B, kColumns].
enum AugmentColumn : std::size_t {
  kIndex,    // index of the image
  kOriginX,  // left edge of the crop in the image: −pad … pad
  kOriginY,
  kMirrored,  // 0 or 1
  kCosine,    // cosine of the angle, in units of 2^-kAngleBits
  kSine,
  kColumns
};
inline constexpr int kAngleBits = 16;
using AugmentRow = std::array<std::int32_t, kColumns>;

// Depends only on its arguments, so that a resumed run sees the same pixels.
AugmentRow draw_augmentation(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch,
                             std::uint64_t index);

// Returns the row that changes nothing.
AugmentRow no_augmentation(std::uint64_t index);

// Returns the row for the given parameters; positive degrees rotate counterclockwise.
AugmentRow augmentation(std::uint64_t index, int origin_x, int origin_y, bool mirrored,
                        double degrees);

}  // namespace sing::lab::image
