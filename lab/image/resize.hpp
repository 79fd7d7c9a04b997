// Antialiased bilinear resizing, to the same bytes as Pillow's where that goes across first and
// then down.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/image/rgb_image.hpp"

namespace sing::lab::image {

// The part of an image that a resize shows, edges included, in pixels and fractions of them.
struct Window {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Memory kept from call to call. One thread at a time.
class Resizer {
 public:
  // `window` of `source` (inside it, not empty) at `size` into `destination`, which has room for
  // 3 · width · height bytes. With `mirrored` each row is written from right to left. Pixels
  // outside the window but inside the source take part in the averages at its edges, as in
  // Pillow's `resize(size, BILINEAR, box)`.
  void resize(const ImageView& source, const Window& window, ImageSize size, bool mirrored,
              std::uint8_t* destination);

 private:
  // For each place of an axis: the first source place, and the weights of the `taps` from there on.
  struct Axis {
    std::vector<int> first;
    std::vector<std::int32_t> weights;  // [places, taps], in units of 2^-22, at the end zeros
    std::vector<double> exact;          // of one place
    int taps = 0;
    int end = 0;  // of the source's places that have a weight
  };
  static void set_axis(Axis& axis, int source, double begin, double end, int places);

  Axis across_, down_;
  std::vector<std::uint8_t> rows_;    // of the source, at the destination's width
  std::vector<std::int32_t> lanes_;   // two rows of the source
  std::vector<std::uint8_t> blocks_;  // a row of the destination and what fills its last block
};

}  // namespace sing::lab::image
