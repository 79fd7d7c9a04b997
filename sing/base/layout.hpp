// The division of a dense tensor into rows for centering and into matrices for factored moments.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace sing {

// Element i in memory belongs to row (i / inner) % rows of the centralized axis, and to row i /
// columns and column i % columns of the matrix i / (matrix_rows · columns).
struct Layout {
  std::int64_t size = 0;
  std::int64_t rank = 0;
  std::int64_t leading = 1;  // the first axis

  std::int64_t outer = 1;  // product of the axes before the centralized one
  std::int64_t rows = 1;   // the centralized axis
  std::int64_t inner = 0;  // product of the axes after it

  std::int64_t matrices = 1;  // product of all axes but the last two
  std::int64_t matrix_rows = 1;
  std::int64_t columns = 0;

  std::int64_t row_length() const { return outer * inner; }
  std::int64_t matrix_row_count() const { return matrices * matrix_rows; }
  std::int64_t matrix_column_count() const { return matrices * columns; }
  bool factored() const { return rank >= 2; }

  bool operator==(const Layout&) const = default;
};

inline std::int64_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1},
                         std::multiplies<std::int64_t>{});
}

// A tensor of rank 0 or 1 is one row. `axis` must lie below the rank of tensors of rank ≥ 2.
inline Layout make_layout(std::span<const std::int64_t> shape, std::int64_t axis) {
  Layout layout;
  layout.size = product(shape);
  layout.rank = static_cast<std::int64_t>(shape.size());
  layout.inner = layout.size;
  layout.columns = layout.size;
  if (layout.rank >= 2) {
    const auto centre = static_cast<std::size_t>(axis);
    layout.leading = shape[0];
    layout.outer = product(shape.subspan(0, centre));
    layout.rows = shape[centre];
    layout.inner = product(shape.subspan(centre + 1));
    layout.matrices = product(shape.subspan(0, shape.size() - 2));
    layout.matrix_rows = shape[shape.size() - 2];
    layout.columns = shape[shape.size() - 1];
  }
  return layout;
}

// The same for a tensor that is dense in another order of its axes. Its matrices are those of a
// contiguous tensor, so rules with factored moments must not be given one.
inline Layout make_layout(std::span<const std::int64_t> shape,
                          std::span<const std::int64_t> strides, std::int64_t axis) {
  Layout layout = make_layout(shape, axis);
  if (layout.rank >= 2 && layout.size > 0) {
    layout.inner = layout.rows > 1 ? strides[static_cast<std::size_t>(axis)] : layout.size;
    layout.outer = layout.size / (layout.rows * layout.inner);
  }
  return layout;
}

}  // namespace sing
