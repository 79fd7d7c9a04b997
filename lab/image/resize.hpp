// Resizes images with antialiased bilinear interpolation. The bytes are the same as Pillow's where
// Pillow resizes horizontally first.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// The part of an image to resize, including its edges, in fractional pixels.
struct Window {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Reuses its memory between calls; only one thread may use it at a time.
class Resizer {
 public:
  // Resizes `window` of `source` (inside it, not empty) to `size` and writes 3 · width · height
  // bytes to `destination`. With `mirrored` each row is written from right to left. Pixels outside
  // the window but inside the source contribute to the averages at its edges, as in Pillow's
  // `resize(size, BILINEAR, box)`.
  void resize(const ImageView& source, const Window& window, ImageSize size, bool mirrored,
              std::uint8_t* destination);

 private:
  // For each place of an axis: the first source place and the weights of `taps` places.
  struct Axis {
    std::vector<int> first;
    std::vector<std::int32_t> weights;  // [places, taps], in units of 2^-22, padded with zeros
    std::vector<double> exact;          // weights of one place before rounding
    int taps = 0;
    int end = 0;  // end of the source places that have a weight
  };
  static void set_axis(Axis& axis, int source, double begin, double end, int places);

  Axis across_, down_;
  std::vector<std::uint8_t> rows_;    // source rows at the destination's width
  std::vector<std::int32_t> lanes_;   // two widened rows of the source
  std::vector<std::uint8_t> blocks_;  // a row of the destination, padded to whole blocks
};

}  // namespace sing::lab::image
