// Draws random crops and computes center crops.
#include "lab/image/crop_boxes.hpp"

#include <algorithm>
#include <cmath>

namespace sing::lab::image {
namespace {

constexpr double kLeastRatio = 3.0 / 4.0;
constexpr double kMostRatio = 4.0 / 3.0;
constexpr int kAttempts = 10;

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

Box fallback_box(ImageSize size) {
  const double ratio = static_cast<double>(size.width) / size.height;
  Box box{0, 0, size.width, size.height};
  if (ratio < kLeastRatio) {
    box.height = std::min(size.height, rounded(size.width / kLeastRatio));
  } else if (ratio > kMostRatio) {
    box.width = std::min(size.width, rounded(size.height * kMostRatio));
  }
  box.width = std::max(1, box.width);
  box.height = std::max(1, box.height);
  box.x = (size.width - box.width) / 2;
  box.y = (size.height - box.height) / 2;
  return box;
}

}  // namespace

double uniform(random::RandomStream& random) { return random.next() * 0x1p-32; }

Box random_resized_box(random::RandomStream& random, ImageSize size, double least_area) {
  const double area = static_cast<double>(size.width) * size.height;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double target = area * (least_area + uniform(random) * (1 - least_area));
    const double low = std::log(kLeastRatio);
    const double ratio = std::exp(low + uniform(random) * (std::log(kMostRatio) - low));
    const int width = rounded(std::sqrt(target * ratio));
    const int height = rounded(std::sqrt(target / ratio));
    if (width > 0 && width <= size.width && height > 0 && height <= size.height) {
      const auto places = [](int outer, int inner) {
        return static_cast<std::uint32_t>(outer - inner) + 1;
      };
      const auto y = static_cast<int>(random.below(places(size.height, height)));
      const auto x = static_cast<int>(random.below(places(size.width, width)));
      return {x, y, width, height};
    }
  }
  return fallback_box(size);
}

Box central_box(ImageSize size, double share) {
  const int side = std::max(1, static_cast<int>(share * std::min(size.width, size.height)));
  return {(size.width - side) / 2, (size.height - side) / 2, side, side};
}

}  // namespace sing::lab::image
