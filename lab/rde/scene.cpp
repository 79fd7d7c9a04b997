// Draws the rectangles and gray values of an RDE image.
#include "lab/rde/scene.hpp"

#include "lab/random/random_stream.hpp"

namespace sing::lab::rde {
namespace {

// Purpose of a random stream; attempts at the rectangles use the purposes below it.
constexpr std::uint32_t kGreyPurpose = 0x8000'0000;

}  // namespace

Scene draw_rectangles(const RdeOptions& options, std::uint64_t seed, std::uint64_t index,
                      std::uint32_t attempt) {
  random::RandomStream random(seed, index, attempt);
  const int size = static_cast<int>(options.image_size);
  const int shortest = static_cast<int>(options.min_side);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint32_t>(bound)));
  };
  Scene scene;
  scene.count = static_cast<int>(options.rectangles);
  scene.image_size = size;
  for (int k = 1; k <= scene.count; ++k) {
    const int lengths = static_cast<int>(options.max_side) - shortest + 1;
    const int width = shortest + below(lengths);
    const int height = shortest + below(lengths);
    const int left = below(size - width + 1);
    const int top = below(size - height + 1);
    scene.rectangles[static_cast<std::size_t>(k)] = {left, top, left + width, top + height};
  }
  return scene;
}

// Draws from a range shortened by the distances, then increases the r-th smallest value by r
// distances. No draw is rejected, however many rectangles there are.
void draw_greys(Scene& scene, std::uint64_t seed, std::uint64_t index) {
  random::RandomStream random(seed, index, kGreyPurpose);
  const auto count = static_cast<std::size_t>(scene.count);
  const std::uint32_t distances = kGreyDistance * static_cast<std::uint32_t>(count - 1);
  std::array<std::uint32_t, kMaxRectangles + 1> drawn{};
  for (std::size_t k = 1; k <= count; ++k) {
    drawn[k] = random.below(kGreyUnits - kDarkestGrey - distances + 1);
  }
  for (std::size_t k = 1; k <= count; ++k) {
    std::uint32_t rank = 0;
    for (std::size_t other = 1; other <= count; ++other) {
      rank += drawn[other] < drawn[k] || (drawn[other] == drawn[k] && other < k) ? 1U : 0U;
    }
    const std::uint32_t grey = kDarkestGrey + drawn[k] + rank * kGreyDistance;
    scene.greys[k] = static_cast<float>(grey) / static_cast<float>(kGreyUnits);
  }
}

}  // namespace sing::lab::rde
