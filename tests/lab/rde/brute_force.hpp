// Implements the RDE definition pixel by pixel, as directly as possible, to check the generator,
// which works on a coarse grid.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lab/rde/scene.hpp"

namespace sing::lab::rde::test {

using Pixels = std::vector<std::vector<int>>;
using Pairs = std::set<std::pair<int, int>>;

inline Pixels paint(const Scene& scene) {
  const auto size = static_cast<std::size_t>(scene.image_size);
  Pixels pixels(size, std::vector<int>(size, 0));
  for (int y = 0; y < scene.image_size; ++y) {
    for (int x = 0; x < scene.image_size; ++x) {
      for (int k = scene.count; k >= 1; --k) {
        const Rectangle& r = scene.rectangles[static_cast<std::size_t>(k)];
        if (x >= r.left && x < r.right && y >= r.top && y < r.bottom) {
          pixels[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = k;
          break;
        }
      }
    }
  }
  return pixels;
}

// Returns (upper, lower) for every pair of rectangles with neighboring pixels.
inline Pairs contacts(const Pixels& pixels) {
  Pairs found;
  const auto add = [&](int a, int b) {
    if (a != b && a != 0 && b != 0) {
      found.emplace(std::max(a, b), std::min(a, b));
    }
  };
  for (std::size_t y = 0; y < pixels.size(); ++y) {
    for (std::size_t x = 0; x < pixels.size(); ++x) {
      if (x > 0) {
        add(pixels[y][x - 1], pixels[y][x]);
      }
      if (y > 0) {
        add(pixels[y - 1][x], pixels[y][x]);
      }
    }
  }
  return found;
}

// Returns the contacts with a junction that reveals the order: [a b; a a] or [a b; a c], rotated
// and mirrored.
inline Pairs telling(const Pixels& pixels) {
  Pairs found;
  const auto read = [&](int top_left, int top_right, int bottom_left, int bottom_right) {
    const int a = top_left;
    const int b = top_right;
    if (a == 0 || b == 0 || a == b || bottom_left != a || bottom_right == b) {
      return;
    }
    found.emplace(std::max(a, b), std::min(a, b));
  };
  for (std::size_t y = 0; y + 1 < pixels.size(); ++y) {
    for (std::size_t x = 0; x + 1 < pixels.size(); ++x) {
      std::array<int, 4> p = {pixels[y][x], pixels[y][x + 1], pixels[y + 1][x],
                              pixels[y + 1][x + 1]};
      for (int turn = 0; turn < 4; ++turn) {
        read(p[0], p[1], p[2], p[3]);
        read(p[1], p[0], p[3], p[2]);
        p = {p[2], p[0], p[3], p[1]};
      }
    }
  }
  return found;
}

inline int height(int k, const Pairs& touching) {
  int below = 0;
  for (const auto& [upper, lower] : touching) {
    if (upper == k) {
      below = std::max(below, height(lower, touching));
    }
  }
  return 1 + below;
}

inline bool keeps_every_rule(const Scene& scene, const RdeOptions& options) {
  std::set<int> vertical;
  std::set<int> horizontal;
  for (int k = 1; k <= scene.count; ++k) {
    const Rectangle& r = scene.rectangles[static_cast<std::size_t>(k)];
    vertical.insert({r.left, r.right});
    horizontal.insert({r.top, r.bottom});
  }
  const auto lines = static_cast<std::size_t>(2 * scene.count);
  if (vertical.size() != lines || horizontal.size() != lines) {
    return false;
  }
  const Pixels pixels = paint(scene);
  std::map<int, int> shown;
  for (const auto& row : pixels) {
    for (const int k : row) {
      ++shown[k];
    }
  }
  const Pairs touching = contacts(pixels);
  for (int k = 1; k <= scene.count; ++k) {
    if (shown[k] < options.min_visible) {
      return false;
    }
    if (options.labels == Labels::kChain && k > 1 && touching.count({k, k - 1}) == 0) {
      return false;
    }
  }
  return touching == telling(pixels);
}

}  // namespace sing::lab::rde::test
