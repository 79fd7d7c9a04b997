// What is visible of a scene, on the coarse grid that the sides of its rectangles cut the image
// into.
#pragma once

#include <array>
#include <cstdint>

#include "lab/rde/contacts.hpp"
#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// Columns lie between neighbouring entries of `x`, rows between those of `y`; the first entry is 0
// and the last the image's size. All pixels of a cell show the same rectangle, so that the cells
// (at most 33 × 33, 81 for four rectangles) say all that the pixels say.
struct CellGrid {
  static constexpr int kMaxLines = 2 * kMaxRectangles + 2;
  using Lines = std::array<int, kMaxLines>;

  explicit CellGrid(const Scene& scene);

  std::uint8_t at(int row, int column) const {
    return owner[static_cast<std::size_t>(row * columns + column)];
  }

  // Pixels that each rectangle shows; [0] is the background.
  std::array<int, kMaxRectangles + 1> visible_pixels() const;
  Contacts contacts() const;

  Lines x{};
  Lines y{};
  int columns = 0;
  int rows = 0;
  std::array<std::uint8_t, (kMaxLines - 1) * (kMaxLines - 1)> owner;  // rows × columns are set
};

}  // namespace sing::lab::rde
