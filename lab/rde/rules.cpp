// Decides whether a drawn scene is kept and computes the heights of its rectangles.
#include "lab/rde/rules.hpp"

#include <algorithm>
#include <array>

namespace sing::lab::rde {

bool has_distinct_lines(const Scene& scene) {
  for (int k = 2; k <= scene.count; ++k) {
    const Rectangle& one = scene.rectangles[static_cast<std::size_t>(k)];
    for (int other = 1; other < k; ++other) {
      const Rectangle& two = scene.rectangles[static_cast<std::size_t>(other)];
      if (one.left == two.left || one.left == two.right || one.right == two.left ||
          one.right == two.right || one.top == two.top || one.top == two.bottom ||
          one.bottom == two.top || one.bottom == two.bottom) {
        return false;
      }
    }
  }
  return true;
}

bool shows_enough(const RdeOptions& options, const CellGrid& grid) {
  const auto pixels = grid.visible_pixels();
  return std::all_of(pixels.begin() + 1, pixels.begin() + 1 + options.rectangles,
                     [&](int shown) { return shown >= options.min_visible; });
}

bool keeps_chain(const RdeOptions& options, const Contacts& contacts) {
  if (options.labels == Labels::kStack) {
    return true;
  }
  for (std::size_t k = 2; k <= static_cast<std::size_t>(options.rectangles); ++k) {
    if (!has_pair(contacts.touches, k, k - 1)) {
      return false;
    }
  }
  return true;
}

void set_heights(Scene& scene, const Contacts& contacts) {
  for (std::size_t k = 1; k <= static_cast<std::size_t>(scene.count); ++k) {
    std::uint8_t below = 0;
    for (std::size_t other = 1; other < k; ++other) {
      if (has_pair(contacts.touches, k, other)) {
        below = std::max(below, scene.heights[other]);
      }
    }
    scene.heights[k] = static_cast<std::uint8_t>(below + 1);
  }
}

}  // namespace sing::lab::rde
