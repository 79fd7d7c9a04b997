// Computes the paper's accuracy on RDE pixel by pixel, as the reference for the task's tensor form.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sing::lab::rde {

// Holds B images of `pixels` pixels with `count` rectangles each, in host memory.
struct Predictions {
  const float* predictions = nullptr;        // [B, pixels]
  const float* targets = nullptr;            // [B, pixels], height / count
  const std::uint8_t* rectangles = nullptr;  // [B, pixels], 0 … count
  std::int64_t images = 0;
  std::int64_t pixels = 0;
  int count = 0;
};

inline bool is_right(const Predictions& batch, std::size_t image) {
  std::array<double, 256> sum{};
  std::array<double, 256> target{};
  std::array<std::int64_t, 256> shown{};
  const auto pixels = static_cast<std::size_t>(batch.pixels);
  const std::size_t first = image * pixels;
  for (std::size_t pixel = first; pixel < first + pixels; ++pixel) {
    const std::uint8_t k = batch.rectangles[pixel];
    sum[k] += static_cast<double>(batch.predictions[pixel]);
    target[k] = static_cast<double>(batch.targets[pixel]);
    ++shown[k];
  }
  bool right = true;
  for (std::size_t k = 1; k < shown.size(); ++k) {
    if (shown[k] == 0) {
      continue;
    }
    // The target is height / count rounded to float, so the height is the nearest integer.
    const double height = std::round(target[k] * batch.count);
    const double mean = sum[k] / static_cast<double>(shown[k]) * batch.count;
    right = right && std::abs(mean - height) < 0.5;
  }
  return right;
}

// Counts the images in which, for every rectangle, the mean prediction over its visible pixels is
// closer to the rectangle's target than to any other multiple of 1 / count. Halfway is not closer,
// and NaN is never close. The background does not count.
inline std::int64_t count_right_images(const Predictions& batch) {
  std::int64_t right = 0;
  for (std::int64_t image = 0; image < batch.images; ++image) {
    right += is_right(batch, static_cast<std::size_t>(image)) ? 1 : 0;
  }
  return right;
}

}  // namespace sing::lab::rde
