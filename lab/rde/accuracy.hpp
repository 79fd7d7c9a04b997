// The paper's accuracy: the share of images whose every rectangle is given its right height.
#pragma once

#include <cstdint>

namespace sing::lab::rde {

// B images of `pixels` pixels with `count` rectangles each, in host memory.
struct Predictions {
  const float* predictions = nullptr;        // [B, pixels]
  const float* targets = nullptr;            // [B, pixels], height / count
  const std::uint8_t* rectangles = nullptr;  // [B, pixels], 0 … count
  std::int64_t images = 0;
  std::int64_t pixels = 0;
  int count = 0;
};

// Images in which the mean prediction over the visible pixels of every rectangle lies nearer to
// that rectangle's target than to any other multiple of 1 / count; halfway is not nearer, NaN is
// not near. The background is not judged. Throws std::invalid_argument for a rectangle above
// `count`, as other sizes than the tensors' would show.
std::int64_t count_right_images(const Predictions& batch);

}  // namespace sing::lab::rde
