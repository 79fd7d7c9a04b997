// Solves an RDE image from its pixels alone, or reports that it cannot.
#pragma once

#include <array>
#include <cstdint>

#include "lab/rde/contacts.hpp"

namespace sing::lab::rde {

// Regions are numbered from 1 in the order of a row-by-row scan; region 0 has gray value 0.
struct Solution {
  int regions = 0;
  std::array<float, kMaxRectangles + 1> greys{};
  Contacts contacts;  // between regions
  // True if every contact has a junction that shows its order and no two junctions contradict each
  // other. Otherwise no heights are set: the solver does not guess.
  bool decided = false;
  std::array<std::uint8_t, kMaxRectangles + 1> heights{};
};

// `image` is [size, size] in row order. Pixels of the same gray value form one rectangle, connected
// or not. Throws std::invalid_argument for more than 16 gray values.
Solution solve(const float* image, int size);

}  // namespace sing::lab::rde
