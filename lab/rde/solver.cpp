// Finds regions by gray value, contacts and junctions by pixel, and heights by longest path.
#include "lab/rde/solver.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lab/rde/junction.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {
namespace {

std::uint8_t region_of(Solution& solution, float grey) {
  const auto known = static_cast<std::size_t>(solution.regions);
  for (std::size_t region = 0; region <= known; ++region) {
    if (solution.greys[region] == grey) {
      return static_cast<std::uint8_t>(region);
    }
  }
  SING_CHECK(solution.regions < kMaxRectangles,
             "[rde solver] wanted an image of at most {} gray values, got more", kMaxRectangles);
  ++solution.regions;
  solution.greys[known + 1] = grey;
  return static_cast<std::uint8_t>(known + 1);
}

std::vector<std::uint8_t> find_regions(Solution& solution, const float* image, std::size_t pixels) {
  std::vector<std::uint8_t> region(pixels);
  float last_grey = 0;
  std::uint8_t last_region = 0;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    if (image[pixel] != last_grey) {
      last_grey = image[pixel];
      last_region = region_of(solution, last_grey);
    }
    region[pixel] = last_region;
  }
  return region;
}

void find_contacts(Contacts& contacts, const std::vector<std::uint8_t>& region, std::size_t size) {
  for (std::size_t row = 0; row < size; ++row) {
    const std::uint8_t* const here = region.data() + row * size;
    const std::uint8_t* const below = row + 1 < size ? here + size : here;
    for (std::size_t column = 0; column + 1 < size; ++column) {
      const Junction at = {here[column], here[column + 1], below[column + 1], below[column]};
      if (at[0] == at[1] && at[0] == at[2] && at[0] == at[3]) {
        continue;
      }
      contacts.add_touch(at[0], at[1]);
      contacts.add_touch(at[0], at[3]);
      contacts.add_touch(at[1], at[2]);
      if (below != here) {
        read_junction(at, [&](std::uint8_t a, std::uint8_t b) { add_pair(contacts.over, a, b); });
      }
    }
  }
}

// Returns false if "over" has a cycle.
bool find_heights(Solution& solution) {
  const auto regions = static_cast<std::size_t>(solution.regions);
  std::fill_n(solution.heights.begin() + 1, regions, std::uint8_t{1});
  for (std::size_t round = 0; round <= regions; ++round) {
    bool changed = false;
    for (std::size_t a = 1; a <= regions; ++a) {
      for (std::size_t b = 1; b <= regions; ++b) {
        if (has_pair(solution.contacts.over, a, b) && solution.heights[a] <= solution.heights[b]) {
          solution.heights[a] = static_cast<std::uint8_t>(solution.heights[b] + 1);
          changed = true;
        }
      }
    }
    if (!changed) {
      return true;
    }
  }
  return false;
}

}  // namespace

Solution solve(const float* image, int size) {
  Solution solution;
  const auto side = static_cast<std::size_t>(size);
  const std::vector<std::uint8_t> region = find_regions(solution, image, side * side);
  find_contacts(solution.contacts, region, side);
  solution.decided = solution.contacts.decides_all(solution.regions) && find_heights(solution);
  if (!solution.decided) {
    solution.heights = {};
  }
  return solution;
}

}  // namespace sing::lab::rde
