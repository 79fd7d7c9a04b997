// Reads from 2×2 pixels which of two rectangles lies over the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sing::lab::rde {

// The regions of four pixels that meet at a corner, clockwise; 0 is the background.
using Junction = std::array<std::uint8_t, 4>;

// Calls over(a, b) for every rectangle a seen to lie over a rectangle b:
//   a a   b shows a corner in a: b is over a.      a b   the line between the columns runs straight
//   a b                                            a c   on past a T: a is over b, and over c.
// A rectangle that covers three of the pixels covers the fourth, so the corner is never wrong. The
// T is right when no two rectangles have a side on the same line: the line is a side of a or b, and
// of a or c, hence of a.
template <class Over>
void read_junction(const Junction& at, Over&& over) {
  for (std::size_t turn = 0; turn < 4; ++turn) {
    const std::uint8_t a = at[turn];
    const std::uint8_t b = at[(turn + 1) % 4];
    const std::uint8_t c = at[(turn + 2) % 4];
    const std::uint8_t d = at[(turn + 3) % 4];
    if (a == 0) {
      continue;
    }
    if (a == b && a == d && c != a && c != 0) {
      over(c, a);
    }
    if (a == b && c != a && d != a && c != d) {
      if (c != 0) {
        over(a, c);
      }
      if (d != 0) {
        over(a, d);
      }
    }
  }
}

}  // namespace sing::lab::rde
