// Averages predictions over rectangles and compares them with the rectangles' heights.
#include "lab/rde/accuracy.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "lab/rde/options.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {
namespace {

bool is_right(const Predictions& batch, std::size_t image) {
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
  const auto count = static_cast<std::size_t>(batch.count);
  bool right = true;
  for (std::size_t k = 1; k < shown.size(); ++k) {
    if (shown[k] == 0) {
      continue;
    }
    SING_CHECK(k <= count, "[rde accuracy] wanted rectangles 1 to {}, got {} in image {}", count, k,
               image);
    // The target is height / count rounded to float: its height is the nearest integer.
    const double height = std::round(target[k] * batch.count);
    const double mean = sum[k] / static_cast<double>(shown[k]) * batch.count;
    right = right && std::abs(mean - height) < 0.5;
  }
  return right;
}

}  // namespace

std::int64_t count_right_images(const Predictions& batch) {
  SING_CHECK(batch.count >= 1 && batch.count <= kMaxRectangles,
             "[rde accuracy] wanted 1 to {} rectangles, got {}", kMaxRectangles, batch.count);
  std::int64_t right = 0;
  for (std::int64_t image = 0; image < batch.images; ++image) {
    right += is_right(batch, static_cast<std::size_t>(image)) ? 1 : 0;
  }
  return right;
}

}  // namespace sing::lab::rde
