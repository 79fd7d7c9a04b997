// Newton–Schulz iterations of a matrix by way of its small square X Xᵀ (docs/algorithm.md, eq. 41;
// "Gram Newton–Schulz", dao-lab.ai/blog/2026/gram-newton-schulz).
//
// With A = X Xᵀ and P = a I + b A + c A², an iteration is X ← P X. P and A commute, so the next A
// is A P P, and X itself is needed at the end alone: X ← (… P₂ P₁) X. Every product in between is
// symmetric. An error of A grows by a² = 11.9 an iteration where A is nearly singular, so A is made
// anew from X after every third one, which keeps the result as near the exact one as the textbook's
// form is. (One A for five would cost a fifth less, and be off by 4e-4 in float32.)
#pragma once

#include "sing/backend/newton_schulz.hpp"

namespace sing::cpu {

// How many iterations one A serves. Of a matrix that is nearly square the products of squares would
// cost more than they save.
inline std::int64_t iterations_of_one_gram(std::int64_t rows, std::int64_t columns) {
  return 2 * std::max(rows, columns) >= 3 * std::min(rows, columns) ? 3 : 1;
}

// Elements of scratch that gram_newton_schulz() needs beside the matrix.
inline std::size_t gram_newton_schulz_scratch(std::int64_t rows, std::int64_t columns) {
  const std::int64_t side = std::min(rows, columns);
  return static_cast<std::size_t>(rows * columns + 4 * side * side);
}

// The squares of one matrix, and what is done to them.
template <class Real, class Work>
class GramIterations {
 public:
  GramIterations(const NewtonSchulz& polynomial, std::int64_t side, Real* memory, const Work& work)
      : polynomial_(polynomial),
        side_(side),
        gram_(memory),
        next_(gram_ + side * side),
        factor_(next_ + side * side),
        spare_(factor_ + side * side),
        work_(work) {}

  Real* gram() { return gram_; }

  // What X is to be multiplied by for `count` iterations from gram() on, which is X Xᵀ.
  const Real* factor_of(std::int64_t count) {
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

 private:
  // P of gram().
  void make_polynomial(Real* to) {
    work_.copy(to, gram_, static_cast<std::size_t>(side_ * side_) * sizeof(Real));
    multiply(to, gram_, gram_, polynomial_.c, polynomial_.b);
    for (std::int64_t i = 0; i < side_; ++i) {
      to[i * (side_ + 1)] += static_cast<Real>(polynomial_.a);
    }
  }

  // to ← alpha · a b + beta · to, all of them symmetric.
  void multiply(Real* to, const Real* a, const Real* b, double alpha = 1, double beta = 0) {
    work_.multiply({.dtype = kDtypeOf<Real>,
                    .rows = side_,
                    .columns = side_,
                    .inner = side_,
                    .a = a,
                    .a_transposed = false,
                    .b = b,
                    .b_transposed = false,
                    .c = to,
                    .alpha = alpha,
                    .beta = beta,
                    .is_symmetric = true});
  }

  const NewtonSchulz& polynomial_;
  std::int64_t side_;
  Real* gram_;
  Real* next_;
  Real* factor_;
  Real* spare_;
  const Work& work_;
};

// As newton_schulz(), which multiplies more, copies more and needs less scratch.
template <class Real, class Work>
const Real* gram_newton_schulz(const NewtonSchulz& polynomial,
                               std::int64_t rows,
                               std::int64_t columns,
                               Real* matrix,
                               Real* scratch,
                               const Work& work) {
  const bool is_wide = rows <= columns;
  const std::int64_t side = std::min(rows, columns);
  const std::int64_t most = iterations_of_one_gram(rows, columns);
  Real* next = scratch;
  GramIterations<Real, Work> squares(polynomial, side, scratch + rows * columns, work);
  for (std::int64_t step = 0; step < polynomial.steps; step += most) {
    work.multiply(gram_product(matrix, rows, columns, squares.gram()));
    const Real* factor = squares.factor_of(std::min(most, polynomial.steps - step));
    work.multiply({.dtype = kDtypeOf<Real>,
                   .rows = rows,
                   .columns = columns,
                   .inner = side,
                   .a = is_wide ? factor : matrix,
                   .a_transposed = false,
                   .b = is_wide ? matrix : factor,
                   .b_transposed = false,
                   .c = next,
                   .alpha = 1,
                   .beta = 0});
    std::swap(matrix, next);
  }
  return matrix;
}

}  // namespace sing::cpu
