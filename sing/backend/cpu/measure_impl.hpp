// Measure: row means and sums of squares of a gradient. Part of kernels_impl.hpp.

// Moments of contiguous elements, in blocks that stay in cache between the two passes.
template <class Real>
Moments measure_piece(const TensorStep& tensor, Range elements) {
  Real buffer[kMeasureBlock];
  Moments moments;
  for (std::int64_t i = elements.begin; i < elements.end; i += kMeasureBlock) {
    const std::int64_t n = least(kMeasureBlock, elements.end - i);
    const Real* block = as_real(tensor.gradient, tensor.gradient_dtype, i, n, buffer);
    moments = combine(moments, moments_of(block, n));
  }
  return moments;
}

template <class Real>
double measure_squares(const TensorStep& tensor, Range elements) {
  Real buffer[kMeasureBlock];
  double sum = 0;
  for (std::int64_t i = elements.begin; i < elements.end; i += kMeasureBlock) {
    const std::int64_t n = least(kMeasureBlock, elements.end - i);
    sum += static_cast<double>(
        squares_of(as_real(tensor.gradient, tensor.gradient_dtype, i, n, buffer), n));
  }
  return sum;
}

// A row of an axis that is not outermost: `outer` pieces of `inner` elements. With inner = 1 this
// walks a column, and neighbouring rows share its cache lines: the caller's range keeps them close.
template <class Real>
Moments measure_scattered_row(const TensorStep& tensor, std::int64_t row) {
  const Layout& layout = tensor.layout;
  Real column[kMeasureBlock];
  Moments moments;
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

// Whole rows that follow one another in memory.
template <class Real>
struct RowGroup {
  const Real* values;
  Real* means;
  GradientSums* sums;  // added to
};

// Groups of as many rows each, read at the same time. The squares of a group are summed together
// and only its means one by one: a sum's last steps cost as much as a row of some hundred elements.
template <std::size_t kGroups, class Real>
void measure_row_groups(const RowGroup<Real> (&groups)[kGroups], std::int64_t rows,
                        std::int64_t inner) {
  const auto n = static_cast<double>(inner);
  Lanes<Real> squared[kGroups];
  double squares_of_means[kGroups] = {};  // of each row's mean, n times
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
      const Moments moments = moments_about(group.values + row * inner, inner, group.means[row]);
      group.means[row] = static_cast<Real>(moments.mean);
      group.sums->squares += cpu::squares(moments);
      group.sums->centred_squares += moments.centred_squares;
    }
  }
}

// Reads four parts of the rows side by side: the processor fetches ahead of each within a page of
// memory, and does not stand still where one of them goes on to the next page.
template <class Real>
GradientSums measure_short_rows(const TensorStep& tensor, Range rows, Real* row_means) {
  constexpr std::int64_t kParts = 4;
  constexpr std::int64_t kAtOnce = SING_VECTOR_BYTES == 64 ? kParts : 1;  // what registers hold
  const std::int64_t inner = tensor.layout.inner;
  // No lane sums more values than in a block of a long row.
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
GradientSums measure_rows(const TensorStep& tensor, Range rows, void* row_means) {
  const std::int64_t inner = tensor.layout.inner;
  auto* means = static_cast<Real*>(row_means);
  if (tensor.layout.outer == 1 && inner <= kMeasureBlock) {
    return measure_short_rows(tensor, rows, means);
  }
  GradientSums sums;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const Moments moments = tensor.layout.outer == 1
                                ? measure_piece<Real>(tensor, {row * inner, (row + 1) * inner})
                                : measure_scattered_row<Real>(tensor, row);
    means[row] = static_cast<Real>(moments.mean);
    sums.squares += squares(moments);
    sums.centred_squares += moments.centred_squares;
  }
  return sums;
}
