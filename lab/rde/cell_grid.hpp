// Defines the visible parts of a scene, on the coarse grid formed by the sides of its rectangles.
#pragma once

#include <array>
#include <cstdint>

#include "lab/rde/contacts.hpp"
#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// Columns lie between adjacent entries of `x`, rows between those of `y`; the first entry is 0 and
// the last is the size of the image. All pixels of a cell show the same rectangle, so the cells (at
// most 33 × 33, and 9 × 9 for four rectangles) contain all information of the pixels.
struct CellGrid {
  static constexpr int kMaxLines = 2 * kMaxRectangles + 2;
  using Lines = std::array<int, kMaxLines>;

  explicit CellGrid(const Scene& scene);

  std::uint8_t at(int row, int column) const {
    return owner[static_cast<std::size_t>(row * columns + column)];
  }

  // Number of visible pixels of each rectangle; [0] is the background.
  std::array<int, kMaxRectangles + 1> visible_pixels() const;
  Contacts contacts() const;

  Lines x{};
  Lines y{};
  int columns = 0;
  int rows = 0;
  std::array<std::uint8_t, (kMaxLines - 1) * (kMaxLines - 1)> owner;  // [rows × columns] are set
};

}  // namespace sing::lab::rde
