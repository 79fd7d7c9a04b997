// Newton–Schulz iterations exactly as in docs/algorithm.md, eq. 41.
#pragma once

#include <utility>
#include <vector>

#include "sing/backend/reference/matrix_product.hpp"

namespace sing {

// `matrix` is rows × columns. The iterations are those of X or Xᵀ, whichever has fewer rows. Xᵀ is
// not stored: its products are those of X with the factors in reverse order.
inline std::vector<double> textbook_newton_schulz(const NewtonSchulz& polynomial, std::int64_t rows,
                                                  std::int64_t columns,
                                                  std::vector<double> matrix) {
  const bool is_wide = rows <= columns;
  const std::int64_t side = is_wide ? rows : columns;
  std::vector<double> gram(static_cast<std::size_t>(side * side));
  for (std::int64_t step = 0; step < polynomial.steps; ++step) {
    multiply_singly({.dtype = Dtype::kFloat64,
                     .rows = side,
                     .columns = side,
                     .inner = is_wide ? columns : rows,
                     .a = matrix.data(),
                     .a_transposed = !is_wide,
                     .b = matrix.data(),
                     .b_transposed = is_wide,
                     .c = gram.data(),
                     .alpha = 1,
                     .beta = 0});
    std::vector<double> blend = gram;
    multiply_singly({.dtype = Dtype::kFloat64,
                     .rows = side,
                     .columns = side,
                     .inner = side,
                     .a = gram.data(),
                     .a_transposed = false,
                     .b = gram.data(),
                     .b_transposed = false,
                     .c = blend.data(),
                     .alpha = polynomial.c,
                     .beta = polynomial.b});
    std::vector<double> next = matrix;
    multiply_singly({.dtype = Dtype::kFloat64,
                     .rows = rows,
                     .columns = columns,
                     .inner = side,
                     .a = is_wide ? blend.data() : matrix.data(),
                     .a_transposed = false,
                     .b = is_wide ? matrix.data() : blend.data(),
                     .b_transposed = false,
                     .c = next.data(),
                     .alpha = 1,
                     .beta = polynomial.a});
    matrix = std::move(next);
  }
  return matrix;
}

}  // namespace sing
