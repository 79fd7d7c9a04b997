// Solves an RDE image from its pixels alone, or says that it cannot.
#pragma once

#include <array>
#include <cstdint>

#include "lab/rde/contacts.hpp"

namespace sing::lab::rde {

// Regions count from 1 in the order in which a row-by-row scan meets them; region 0 is grey 0.
struct Solution {
  int regions = 0;
  std::array<float, kMaxRectangles + 1> greys{};
  Contacts contacts;  // between regions
  // Every contact has a junction that tells, and none contradicts another. Otherwise no height is
  // given: the solver does not guess.
  bool decided = false;
  std::array<std::uint8_t, kMaxRectangles + 1> heights{};
};

// `image` is [size, size] row by row. Pixels of one grey are one rectangle, whether they are
// connected or not. Throws std::invalid_argument for more than 16 greys.
Solution solve(const float* image, int size);

}  // namespace sing::lab::rde
