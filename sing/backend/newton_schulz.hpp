// Newton–Schulz iterations: the matrix products that make a matrix nearly orthogonal, whoever
// carries them out (docs/algorithm.md, eq. 41).
#pragma once

#include <algorithm>
#include <type_traits>

#include "sing/backend/backend.hpp"

namespace sing {

// Elements of scratch that the iterations need beside the matrix.
inline std::size_t newton_schulz_scratch(std::int64_t rows, std::int64_t columns) {
  const std::int64_t side = std::min(rows, columns);
  return static_cast<std::size_t>(rows * columns + 2 * side * side);
}

// What the iterations are made of, in the memory of a backend.
template <class Multiply, class Copy>
struct MatrixWork {
  Multiply multiply;  // (const MatrixProduct&)
  Copy copy;          // (void* to, const void* from, std::size_t bytes)
};
template <class Multiply, class Copy>
MatrixWork(Multiply, Copy) -> MatrixWork<Multiply, Copy>;

template <class Real>
inline constexpr Dtype kDtypeOf = std::is_same_v<Real, double> ? Dtype::kFloat64 : Dtype::kFloat32;

// X Xᵀ of a rows × columns X, or Xᵀ X where that is smaller.
template <class Real>
MatrixProduct gram_product(const Real* x, std::int64_t rows, std::int64_t columns, Real* gram) {
  const bool is_wide = rows <= columns;
  return {.dtype = kDtypeOf<Real>,
          .rows = std::min(rows, columns),
          .columns = std::min(rows, columns),
          .inner = std::max(rows, columns),
          .a = x,
          .a_transposed = !is_wide,
          .b = x,
          .b_transposed = is_wide,
          .c = gram,
          .alpha = 1,
          .beta = 0,
          .is_symmetric = true};
}

// `matrix` is rows × columns and is overwritten; the result lies in it or in `scratch`. Of X and Xᵀ
// the one with fewer rows is iterated on, without being moved: Xᵀ's products are X's, turned round.
template <class Real, class Work>
const Real* newton_schulz(const NewtonSchulz& polynomial,
                          std::int64_t rows,
                          std::int64_t columns,
                          Real* matrix,
                          Real* scratch,
                          const Work& work) {
  const bool is_wide = rows <= columns;
  const std::int64_t side = std::min(rows, columns);
  const auto matrix_bytes = static_cast<std::size_t>(rows * columns) * sizeof(Real);
  const auto square_bytes = static_cast<std::size_t>(side * side) * sizeof(Real);
  Real* next = scratch;
  Real* gram = scratch + rows * columns;
  Real* blend = gram + side * side;
  for (std::int64_t step = 0; step < polynomial.steps; ++step) {
    work.multiply(gram_product(matrix, rows, columns, gram));
    work.copy(blend, gram, square_bytes);
    work.multiply({.dtype = kDtypeOf<Real>,
                   .rows = side,
                   .columns = side,
                   .inner = side,
                   .a = gram,
                   .a_transposed = false,
                   .b = gram,
                   .b_transposed = false,
                   .c = blend,
                   .alpha = polynomial.c,
                   .beta = polynomial.b,
                   .is_symmetric = true});
    work.copy(next, matrix, matrix_bytes);
    work.multiply({.dtype = kDtypeOf<Real>,
                   .rows = rows,
                   .columns = columns,
                   .inner = side,
                   .a = is_wide ? blend : matrix,
                   .a_transposed = false,
                   .b = is_wide ? matrix : blend,
                   .b_transposed = false,
                   .c = next,
                   .alpha = 1,
                   .beta = polynomial.a});
    std::swap(matrix, next);
  }
  return matrix;
}

}  // namespace sing
