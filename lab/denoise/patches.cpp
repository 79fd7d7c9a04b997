// Draws noise from a table of the normal distribution's quantiles.
#include "lab/denoise/patches.hpp"

#include <array>
#include <cmath>

#include "lab/random/random_stream.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::denoise {
namespace {

constexpr std::uint32_t kPlacePurpose = 0xDE40;
constexpr std::uint32_t kNoisePurpose = 0xDE41;
constexpr std::uint32_t kTestNoisePurpose = 0xDE42;

// Quantiles at the middles of 4096 equally likely parts: their variance differs from 1 by 2e-4.
constexpr int kPartBits = 12;
constexpr std::size_t kParts = std::size_t{1} << kPartBits;
using Quantiles = std::array<float, kParts>;

double normal_quantile(double probability) {
  double low = -10;
  double high = 10;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

const Quantiles& normal_quantiles() {
  static const Quantiles kQuantiles = [] {
    Quantiles quantiles;
    for (std::size_t part = 0; part < kParts; ++part) {
      quantiles[part] = static_cast<float>(
          normal_quantile((static_cast<double>(part) + 0.5) / static_cast<double>(kParts)));
    }
    return quantiles;
  }();
  return kQuantiles;
}

}  // namespace

image::Crop PatchRule::choose(image::ImageSize image, std::uint64_t index) const {
  SING_CHECK(image.width >= size && image.height >= size,
             "[denoise] wanted images of at least {0} x {0} pixels, got one of {1} x {2}: --patch",
             size, image.width, image.height);
  image::Box box{
      .x = (image.width - size) / 2, .y = (image.height - size) / 2, .width = size, .height = size};
  if (subset == image::Split::kTest) {
    return {box, false};
  }
  random::RandomStream random(seed, epoch << 32 | index, kPlacePurpose);
  box.x = static_cast<int>(random.below(static_cast<std::uint32_t>(image.width - size + 1)));
  box.y = static_cast<int>(random.below(static_cast<std::uint32_t>(image.height - size + 1)));
  return {box, random.below(2) == 1};
}

void PatchRule::draw_noise(std::uint64_t index, std::span<float> noise) const {
  const bool is_test = subset == image::Split::kTest;
  random::RandomStream random(is_test ? 0 : seed, is_test ? index : epoch << 32 | index,
                              is_test ? kTestNoisePurpose : kNoisePurpose);
  const Quantiles& quantiles = normal_quantiles();
  std::uint32_t bits = 0;
  for (std::size_t place = 0; place < noise.size(); ++place) {
    bits = place % 2 == 0 ? random.next() : bits >> kPartBits;
    noise[place] = quantiles[bits % kParts];
  }
}

}  // namespace sing::lab::denoise
