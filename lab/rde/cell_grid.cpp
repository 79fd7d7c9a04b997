// Builds the grid of a scene's side lines and reads visible areas and contacts from it.
#include "lab/rde/cell_grid.hpp"

#include <algorithm>
#include <cstring>

#include "lab/rde/junction.hpp"

namespace sing::lab::rde {
namespace {

// Sorts the first `count` lines, removes duplicates and returns how many are left.
int sort_lines(CellGrid::Lines& lines, int count) {
  const auto end = lines.begin() + count;
  std::sort(lines.begin(), end);
  return static_cast<int>(std::unique(lines.begin(), end) - lines.begin());
}

int index_of(const CellGrid::Lines& lines, int line) {
  return static_cast<int>(std::find(lines.begin(), lines.end(), line) - lines.begin());
}

}  // namespace

CellGrid::CellGrid(const Scene& scene) {
  int count = 0;
  x[0] = y[0] = 0;
  x[1] = y[1] = scene.image_size;
  count = 2;
  for (int k = 1; k <= scene.count; ++k) {
    const Rectangle& rectangle = scene.rectangles[static_cast<std::size_t>(k)];
    const auto next = static_cast<std::size_t>(count);
    x[next] = rectangle.left;
    x[next + 1] = rectangle.right;
    y[next] = rectangle.top;
    y[next + 1] = rectangle.bottom;
    count += 2;
  }
  columns = sort_lines(x, count) - 1;
  rows = sort_lines(y, count) - 1;
  std::memset(owner.data(), 0, static_cast<std::size_t>(rows * columns));
  for (int k = 1; k <= scene.count; ++k) {
    const Rectangle& rectangle = scene.rectangles[static_cast<std::size_t>(k)];
    const int first = index_of(x, rectangle.left);
    const int width = index_of(x, rectangle.right) - first;
    const int last_row = index_of(y, rectangle.bottom);
    for (int row = index_of(y, rectangle.top); row < last_row; ++row) {
      std::memset(&owner[static_cast<std::size_t>(row * columns + first)], k,
                  static_cast<std::size_t>(width));
    }
  }
}

std::array<int, kMaxRectangles + 1> CellGrid::visible_pixels() const {
  std::array<int, kMaxRectangles + 1> pixels{};
  for (int row = 0; row < rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const int height = y[r + 1] - y[r];
    for (int column = 0; column < columns; ++column) {
      const auto c = static_cast<std::size_t>(column);
      pixels[at(row, column)] += height * (x[c + 1] - x[c]);
    }
  }
  return pixels;
}

Contacts CellGrid::contacts() const {
  Contacts contacts;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const std::uint8_t here = at(row, column);
      const bool has_right = column + 1 < columns;
      const bool has_below = row + 1 < rows;
      if (has_right) {
        contacts.add_touch(here, at(row, column + 1));
      }
      if (has_below) {
        contacts.add_touch(here, at(row + 1, column));
      }
      if (has_right && has_below) {
        read_junction({here, at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)},
                      [&](std::uint8_t a, std::uint8_t b) { add_pair(contacts.over, a, b); });
      }
    }
  }
  return contacts;
}

}  // namespace sing::lab::rde
