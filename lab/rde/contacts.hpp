// Defines bit sets of the rectangles that touch and of those that are seen over others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Bit b of row a represents the pair (a, b) of rectangles 1 … 16.
using PairSet = std::array<std::uint32_t, kMaxRectangles + 1>;

inline void add_pair(PairSet& set, std::uint8_t a, std::uint8_t b) { set[a] |= 1U << b; }
inline bool has_pair(const PairSet& set, std::size_t a, std::size_t b) {
  return ((set[a] >> b) & 1U) != 0;
}

struct Contacts {
  PairSet touches{};  // symmetric: a pixel of a is a 4-neighbor of a pixel of b
  PairSet over{};     // a junction shows that a lies over b

  void add_touch(std::uint8_t a, std::uint8_t b) {
    if (a != b && a != 0 && b != 0) {
      add_pair(touches, a, b);
      add_pair(touches, b, a);
    }
  }

  // Returns whether exactly one of the two is seen over the other.
  bool decides(std::size_t a, std::size_t b) const {
    return has_pair(over, a, b) != has_pair(over, b, a);
  }

  bool decides_all(int count) const {
    for (std::size_t a = 1; a <= static_cast<std::size_t>(count); ++a) {
      for (std::size_t b = 1; b < a; ++b) {
        if (has_pair(touches, a, b) && !decides(a, b)) {
          return false;
        }
      }
    }
    return true;
  }
};

}  // namespace sing::lab::rde
