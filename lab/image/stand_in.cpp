// Generates stand-in images from patterns, shifts and noise.
#include "lab/image/stand_in.hpp"

#include <algorithm>

#include "lab/random/random_stream.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

constexpr std::uint64_t kSeed = 0;
constexpr std::uint32_t kPatternPurpose = 10;
constexpr std::uint32_t kImagePurpose = 11;  // training images; test images use the next number
constexpr std::int64_t kKnots = 4;           // per side of the grid that a pattern interpolates
constexpr int kMostShift = 2;
constexpr int kNoise = 32;

// Interpolates bilinearly between random values on a kKnots × kKnots grid that wraps at the edges.
std::vector<std::uint8_t> make_pattern(const SmallShape& shape, std::uint64_t label) {
  random::RandomStream random(kSeed, label, kPatternPurpose);
  std::vector<std::uint8_t> pattern;
  pattern.reserve(static_cast<std::size_t>(shape.values()));
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    std::array<std::array<std::int64_t, kKnots>, kKnots> knots{};
    for (auto& row : knots) {
      std::generate(row.begin(), row.end(), [&] { return random.below(256); });
    }
    const std::int64_t size = shape.size;
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x) {
        const auto at = [&](std::int64_t down, std::int64_t right) {
          const auto row = static_cast<std::size_t>((y * kKnots / size + down) % kKnots);
          return knots[row][static_cast<std::size_t>((x * kKnots / size + right) % kKnots)];
        };
        const std::int64_t fy = y * kKnots % size;
        const std::int64_t fx = x * kKnots % size;
        const std::int64_t upper = at(0, 0) * (size - fx) + at(0, 1) * fx;
        const std::int64_t lower = at(1, 0) * (size - fx) + at(1, 1) * fx;
        pattern.push_back(
            static_cast<std::uint8_t>((upper * (size - fy) + lower * fy) / (size * size)));
      }
    }
  }
  return pattern;
}

void add_image(const SmallShape& shape, const std::vector<std::uint8_t>& pattern,
               random::RandomStream random, std::vector<std::uint8_t>& pixels) {
  const auto shift = [&] {
    return static_cast<std::int64_t>(random.below(2 * kMostShift + 1)) - kMostShift;
  };
  const std::int64_t right = shift();
  const std::int64_t down = shift();
  const std::int64_t size = shape.size;
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x) {
        const std::int64_t source =
            (channel * size + (y + down + size) % size) * size + (x + right + size) % size;
        const int noise = static_cast<int>(random.below(2 * kNoise + 1)) - kNoise;
        pixels.push_back(static_cast<std::uint8_t>(
            std::clamp(pattern[static_cast<std::size_t>(source)] + noise, 0, 255)));
      }
    }
  }
}

}  // namespace

SmallSet make_stand_in(const SmallShape& shape, std::int64_t training_count,
                       std::int64_t test_count) {
  std::vector<std::vector<std::uint8_t>> patterns;
  for (std::int64_t label = 0; label < shape.classes; ++label) {
    patterns.push_back(make_pattern(shape, static_cast<std::uint64_t>(label)));
  }
  SmallSet set{shape, {}};
  const std::array<std::int64_t, 2> counts = {training_count, test_count};
  for (std::size_t subset = 0; subset < counts.size(); ++subset) {
    for (std::int64_t image = 0; image < counts[subset]; ++image) {
      const auto label = static_cast<std::size_t>(image % shape.classes);
      add_image(shape, patterns[label],
                random::RandomStream(kSeed, static_cast<std::uint64_t>(image),
                                     kImagePurpose + static_cast<std::uint32_t>(subset)),
                set.subsets[subset].pixels);
      set.subsets[subset].labels.push_back(static_cast<std::uint8_t>(label));
    }
  }
  return set;
}

std::string stand_in_notice(const std::string& data_set) {
  return fmt::format(
      "STAND-IN DATA: generated patterns, not {}. These figures only show that the program runs.",
      data_set);
}

}  // namespace sing::lab::image
