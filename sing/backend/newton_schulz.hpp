// Newton–Schulz iterations of matrices through their small Gram matrices X Xᵀ, with the products
// left to the backend (docs/algorithm.md, eq. 41; "Gram Newton–Schulz",
// dao-lab.ai/blog/2026/gram-newton-schulz).
//
// With A = X Xᵀ and P = a I + b A + c A², an iteration is X ← P X. P and A commute, so the next A
// is A P P, and X itself is needed only at the end: X ← (… P₂ P₁) X. All products in between are
// symmetric. An error of A grows by a² = 11.9 per iteration where A is nearly singular, so A is
// computed from X again after every third iteration, which keeps the result as close to the exact
// one as the textbook's form is. (One A for five iterations would cost a fifth less and be off by
// 4e-4 in float32.)
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "sing/backend/backend.hpp"

namespace sing {

// Consecutive row-major matrices of one shape.
struct Matrices {
  std::int64_t rows, columns;
  std::int64_t count = 1;

  std::int64_t side() const { return std::min(rows, columns); }
  std::int64_t elements() const { return count * rows * columns; }
  std::int64_t square_elements() const { return count * side() * side(); }
};

// The matrix that a tensor is: the first axis are its rows.
inline Matrices matrix_of(const Layout& layout) {
  return {.rows = layout.leading,
          .columns = layout.leading == 0 ? 0 : layout.size / layout.leading};
}

// Elements of scratch that newton_schulz() needs in addition to the matrices.
inline std::size_t newton_schulz_scratch(const Matrices& shape) {
  return static_cast<std::size_t>(shape.elements() + 4 * shape.square_elements());
}

// The operations of an iteration, in the memory of a backend.
template <class Multiply, class Shift>
struct MatrixWork {
  Multiply multiply;  // (const MatrixProduct&)
  // (Real* to, const Real* from, std::int64_t side, std::int64_t count, Real factor, Real shift):
  // to ← factor · from + shift · I, for `count` squares
  Shift shift;
};
template <class Multiply, class Shift>
MatrixWork(Multiply, Shift) -> MatrixWork<Multiply, Shift>;

// How many iterations one A serves. For a nearly square matrix the additional products of squares
// would cost more than they save.
inline std::int64_t iterations_of_one_gram(const Matrices& shape) {
  return 2 * std::max(shape.rows, shape.columns) >= 3 * shape.side() ? 3 : 1;
}

// The Gram matrices A of the matrices X, and the iterations on them.
template <class Real, class Work>
class GramIterations {
 public:
  GramIterations(const NewtonSchulz& polynomial, const Matrices& shape, Real* memory,
                 const Work& work)
      : polynomial_(polynomial),
        shape_(shape),
        gram_(memory),
        next_(gram_ + shape.square_elements()),
        factor_(next_ + shape.square_elements()),
        spare_(factor_ + shape.square_elements()),
        work_(work) {}

  // The matrices by which X is multiplied to make `count` iterations.
  const Real* factors_of(const Real* matrices, std::int64_t count) {
    make_grams(matrices);
    for (std::int64_t iteration = 0; iteration < count; ++iteration) {
      make_polynomial(next_);
      const Real* latest = next_;
      if (iteration == 0) {
        std::swap(next_, factor_);
      } else {
        multiply(spare_, next_, factor_);
        std::swap(spare_, factor_);
      }
      if (iteration + 1 < count) {
        multiply(spare_, gram_, latest);
        multiply(gram_, spare_, latest);
      }
    }
    return factor_;
  }

  // to ← P X, or X P if X is tall.
  void apply(const Real* factors, const Real* matrices, Real* to) const {
    const bool is_wide = shape_.rows <= shape_.columns;
    work_.multiply({.dtype = kDtype,
                    .rows = shape_.rows,
                    .columns = shape_.columns,
                    .inner = shape_.side(),
                    .a = is_wide ? factors : matrices,
                    .a_transposed = false,
                    .b = is_wide ? matrices : factors,
                    .b_transposed = false,
                    .c = to,
                    .alpha = 1,
                    .beta = 0,
                    .count = shape_.count});
  }

 private:
  static constexpr Dtype kDtype = std::is_same_v<Real, double> ? Dtype::kFloat64 : Dtype::kFloat32;

  // gram_ ← X Xᵀ, or Xᵀ X if X is tall.
  void make_grams(const Real* matrices) const {
    const bool is_wide = shape_.rows <= shape_.columns;
    work_.multiply({.dtype = kDtype,
                    .rows = shape_.side(),
                    .columns = shape_.side(),
                    .inner = std::max(shape_.rows, shape_.columns),
                    .a = matrices,
                    .a_transposed = !is_wide,
                    .b = matrices,
                    .b_transposed = is_wide,
                    .c = gram_,
                    .alpha = 1,
                    .beta = 0,
                    .is_symmetric = true,
                    .count = shape_.count});
  }

  // to ← P, the polynomial of gram_.
  void make_polynomial(Real* to) const {
    work_.shift(to, gram_, shape_.side(), shape_.count, static_cast<Real>(polynomial_.b),
                static_cast<Real>(polynomial_.a));
    multiply(to, gram_, gram_, polynomial_.c, 1);
  }

  // to ← alpha · a b + beta · to, all of them symmetric.
  void multiply(Real* to, const Real* a, const Real* b, double alpha = 1, double beta = 0) const {
    work_.multiply({.dtype = kDtype,
                    .rows = shape_.side(),
                    .columns = shape_.side(),
                    .inner = shape_.side(),
                    .a = a,
                    .a_transposed = false,
                    .b = b,
                    .b_transposed = false,
                    .c = to,
                    .alpha = alpha,
                    .beta = beta,
                    .is_symmetric = true,
                    .count = shape_.count});
  }

  const NewtonSchulz& polynomial_;
  const Matrices& shape_;
  Real* gram_;
  Real* next_;
  Real* factor_;
  Real* spare_;
  const Work& work_;
};

// Overwrites the matrices and returns the results, which lie in their place or at the beginning of
// `scratch`.
template <class Real, class Work>
const Real* newton_schulz(const NewtonSchulz& polynomial, const Matrices& shape, Real* matrices,
                          Real* scratch, const Work& work) {
  const std::int64_t most = iterations_of_one_gram(shape);
  Real* next = scratch;
  GramIterations<Real, Work> squares(polynomial, shape, scratch + shape.elements(), work);
  for (std::int64_t step = 0; step < polynomial.steps; step += most) {
    const Real* factors = squares.factors_of(matrices, std::min(most, polynomial.steps - step));
    squares.apply(factors, matrices, next);
    std::swap(matrices, next);
  }
  return matrices;
}

}  // namespace sing
