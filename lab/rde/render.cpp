// Renders a scene cell by cell: one row of each band of cells, then copies of that row.
#include "lab/rde/render.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lab/rde/cell_grid.hpp"

namespace sing::lab::rde {
namespace {

template <class Pixel>
void paint(const CellGrid& grid, const std::array<Pixel, kMaxRectangles + 1>& value_of,
           Pixel* pixels) {
  const auto size = static_cast<std::size_t>(grid.x[static_cast<std::size_t>(grid.columns)]);
  for (int row = 0; row < grid.rows; ++row) {
    const auto first = static_cast<std::size_t>(grid.y[static_cast<std::size_t>(row)]);
    const auto last = static_cast<std::size_t>(grid.y[static_cast<std::size_t>(row) + 1]);
    Pixel* const line = pixels + first * size;
    for (int column = 0; column < grid.columns; ++column) {
      const auto c = static_cast<std::size_t>(column);
      std::fill(line + grid.x[c], line + grid.x[c + 1], value_of[grid.at(row, column)]);
    }
    for (std::size_t copy = first + 1; copy < last; ++copy) {
      std::memcpy(pixels + copy * size, line, size * sizeof(Pixel));
    }
  }
}

}  // namespace

void render(const Scene& scene, const ImageBuffers& buffers) {
  const CellGrid grid(scene);
  if (buffers.image != nullptr) {
    paint(grid, scene.greys, buffers.image);
  }
  if (buffers.target != nullptr) {
    std::array<float, kMaxRectangles + 1> targets{};
    for (std::size_t k = 1; k <= static_cast<std::size_t>(scene.count); ++k) {
      targets[k] = target_of(scene, k);
    }
    paint(grid, targets, buffers.target);
  }
  if (buffers.rectangle != nullptr) {
    std::array<std::uint8_t, kMaxRectangles + 1> numbers{};
    for (std::size_t k = 1; k <= static_cast<std::size_t>(scene.count); ++k) {
      numbers[k] = static_cast<std::uint8_t>(k);
    }
    paint(grid, numbers, buffers.rectangle);
  }
}

}  // namespace sing::lab::rde
