// Draws the augmentation parameters from counter-based random numbers.
#include "lab/image/augment_parameters.hpp"

#include <cmath>
#include <numbers>

#include "lab/random/random_stream.hpp"

namespace sing::lab::image {
namespace {

constexpr std::uint32_t kAugmentPurpose = 3;

}  // namespace

AugmentRow augmentation(std::uint64_t index, int origin_x, int origin_y, bool mirrored,
                        double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const auto units = [](double value) {
    return static_cast<std::int32_t>(std::lround(value * (1 << kAngleBits)));
  };
  AugmentRow row{};
  row[kIndex] = static_cast<std::int32_t>(index);
  row[kOriginX] = origin_x;
  row[kOriginY] = origin_y;
  row[kMirrored] = mirrored ? 1 : 0;
  row[kCosine] = units(std::cos(angle));
  row[kSine] = units(std::sin(angle));
  return row;
}

AugmentRow no_augmentation(std::uint64_t index) { return augmentation(index, 0, 0, false, 0); }

AugmentRow draw_augmentation(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch,
                             std::uint64_t index) {
  random::RandomStream random(seed, epoch << 32 | index, kAugmentPurpose);
  const auto pad = static_cast<std::uint32_t>(options.pad);
  const auto origin = [&] {
    return static_cast<int>(random.below(2 * pad + 1)) - static_cast<int>(pad);
  };
  const int origin_x = origin();
  const int origin_y = origin();
  const bool mirrored = options.mirror && random.below(2) == 1;
  const double degrees = options.rotation * (random.next() * 0x1p-31 - 1);
  return augmentation(index, origin_x, origin_y, mirrored, options.rotation > 0 ? degrees : 0);
}

}  // namespace sing::lab::image
