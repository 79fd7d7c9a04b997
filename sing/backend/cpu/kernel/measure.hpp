// The measure pass: row means and sums of squares of a gradient.
#pragma once

#include "sing/backend/cpu/kernel/element_arrays.hpp"
#include "sing/backend/cpu/kernel/lanes.hpp"
#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu::SING_ISA {
namespace {

inline constexpr std::int64_t kMeasureBlock = 4096;  // elements; 16 KB of float

// The moments of consecutive elements, in blocks that stay in cache between the two passes.
template <class Real>
SampleMoments measure_piece(const TensorStep& tensor, IndexRange elements) {
  Real buffer[kMeasureBlock];
  SampleMoments moments;
  for (std::int64_t i = elements.begin; i < elements.end; i += kMeasureBlock) {
    const std::int64_t n = least(kMeasureBlock, elements.end - i);
    const Real* block = as_real(tensor.gradient, tensor.gradient_dtype, i, n, buffer);
    moments = combine(moments, moments_of(block, n));
  }
  return moments;
}

template <class Real>
double measure_squares(const TensorStep& tensor, IndexRange elements) {
  Real buffer[kMeasureBlock];
  double sum = 0;
  for (std::int64_t i = elements.begin; i < elements.end; i += kMeasureBlock) {
    const std::int64_t n = least(kMeasureBlock, elements.end - i);
    sum += static_cast<double>(
        squares_of(as_real(tensor.gradient, tensor.gradient_dtype, i, n, buffer), n));
  }
  return sum;
}

// The moments of a row along an axis that is not the outermost: `outer` pieces of `inner` elements.
// With inner = 1 this walks down a column, whose cache lines hold neighboring rows too: callers
// measure these soon after.
template <class Real>
SampleMoments measure_scattered_row(const TensorStep& tensor, std::int64_t row) {
  const Layout& layout = tensor.layout;
  Real column[kMeasureBlock];
  SampleMoments moments;
  if (layout.inner >= kLanes) {
    for (std::int64_t o = 0; o < layout.outer; ++o) {
      const std::int64_t begin = (o * layout.rows + row) * layout.inner;
      moments = combine(moments, measure_piece<Real>(tensor, {begin, begin + layout.inner}));
    }
    return moments;
  }
  std::int64_t filled = 0;
  for (std::int64_t o = 0; o < layout.outer; ++o) {
    const std::int64_t begin = (o * layout.rows + row) * layout.inner;
    with_type<Real>(tensor.gradient, tensor.gradient_dtype, begin,
                    [&](auto* from) { widen(from, column + filled, layout.inner); });
    filled += layout.inner;
    if (filled + layout.inner > kMeasureBlock || o + 1 == layout.outer) {
      moments = combine(moments, moments_of(column, filled));
      filled = 0;
    }
  }
  return moments;
}

// Consecutive whole rows.
template <class Real>
struct RowGroup {
  const Real* values;
  Real* means;
  GradientSums* sums;  // incremented
};

// Measures kGroups groups of `rows` rows, reading them in parallel. Squares are summed per group
// and only means per row, because reducing the lanes costs as much as a row of several hundred
// elements.
template <std::size_t kGroups, class Real>
void measure_row_groups(const RowGroup<Real> (&groups)[kGroups], std::int64_t rows,
                        std::int64_t inner) {
  const auto n = static_cast<double>(inner);
  Lanes<Real> squared[kGroups];
  double squares_of_means[kGroups] = {};  // Σ n · mean² over rows
  for (std::int64_t row = 0; row < rows; ++row) {
    Lanes<Real> sums[kGroups];
    const Real* x[kGroups];
    for (std::size_t k = 0; k < kGroups; ++k) {
      x[k] = groups[k].values + row * inner;
    }
    for_each_vector_of(x, inner, Real(0),
                       [&](std::size_t k, int part, auto values) __attribute__((always_inline)) {
                         sums[k].add(part, values);
                         squared[k].add(part, values * values);
                       });
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kGroups; ++k) {
      const double mean = static_cast<double>(sums[k].total()) / n;
      groups[k].means[row] = static_cast<Real>(mean);
      squares_of_means[k] += n * mean * mean;
    }
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kGroups; ++k) {
    const RowGroup<Real>& group = groups[k];
    const auto squares = static_cast<double>(squared[k].total());
    if (may_subtract(squares_of_means[k], squares)) {
      group.sums->squares += squares;
      group.sums->centred_squares += squares - squares_of_means[k];
      continue;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const SampleMoments moments =
          moments_about(group.values + row * inner, inner, group.means[row]);
      group.means[row] = static_cast<Real>(moments.mean);
      group.sums->squares += cpu::squares(moments);
      group.sums->centred_squares += moments.centred_squares;
    }
  }
}

// Reads four parts of the rows in parallel: the hardware prefetcher stops at the end of a page, and
// while one part enters its next page the others still have data.
template <class Real>
GradientSums measure_short_rows(const TensorStep& tensor, IndexRange rows, Real* row_means) {
  constexpr std::int64_t kParts = 4;
  constexpr std::int64_t kAtOnce = SING_VECTOR_BYTES == 64 ? kParts : 1;  // that fit in registers
  const std::int64_t inner = tensor.layout.inner;
  // No lane sums more values than it does for a block of a long row.
  const std::int64_t group = least(kMeasureBlock / inner, kMeasureBlock / kLanes);
  const bool is_readable = tensor.gradient_dtype == kDtypeOf<Real>;
  const std::int64_t part_rows =
      is_readable ? (rows.end - rows.begin) / (kParts * group) * group : 0;
  GradientSums sums[kParts + 1];
  for (std::int64_t row = rows.begin; row < rows.begin + part_rows; row += group) {
    for (std::int64_t part = 0; part < kParts; part += kAtOnce) {
      RowGroup<Real> groups[kAtOnce];
      for (std::int64_t k = 0; k < kAtOnce; ++k) {
        const std::int64_t first = row + (part + k) * part_rows;
        groups[k] = {static_cast<const Real*>(tensor.gradient) + first * inner, row_means + first,
                     &sums[part + k]};
      }
      measure_row_groups(groups, group, inner);
    }
  }
  Real buffer[kMeasureBlock];
  for (std::int64_t row = rows.begin + kParts * part_rows; row < rows.end; row += group) {
    const std::int64_t count = least(group, rows.end - row);
    const RowGroup<Real> rest[] = {
        {as_real(tensor.gradient, tensor.gradient_dtype, row * inner, count * inner, buffer),
         row_means + row, &sums[kParts]}};
    measure_row_groups(rest, count, inner);
  }
  GradientSums total;
  for (const GradientSums& part : sums) {
    total.squares += part.squares;
    total.centred_squares += part.centred_squares;
  }
  return total;
}

template <class Real>
GradientSums measure_rows(const TensorStep& tensor, IndexRange rows, void* row_means) {
  const std::int64_t inner = tensor.layout.inner;
  auto* means = static_cast<Real*>(row_means);
  if (tensor.layout.outer == 1 && inner <= kMeasureBlock) {
    return measure_short_rows(tensor, rows, means);
  }
  GradientSums sums;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const SampleMoments moments =
        tensor.layout.outer == 1 ? measure_piece<Real>(tensor, {row * inner, (row + 1) * inner})
                                 : measure_scattered_row<Real>(tensor, row);
    means[row] = static_cast<Real>(moments.mean);
    sums.squares += squares(moments);
    sums.centred_squares += moments.centred_squares;
  }
  return sums;
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
