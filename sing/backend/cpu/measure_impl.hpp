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
    with_type<Real>(tensor.gradient, tensor.gradient_dtype, begin, [&](auto* from) {
      widen(from, column + filled, layout.inner);
    });
    filled += layout.inner;
    if (filled + layout.inner > kMeasureBlock || o + 1 == layout.outer) {
      moments = combine(moments, moments_of(column, filled));
      filled = 0;
    }
  }
  return moments;
}

// Whole rows that follow one another in memory. Their squares are summed together and only their
// means one by one: a sum's last steps cost as much as a row of some hundred elements.
template <class Real>
GradientSums measure_row_group(const Real* x, std::int64_t rows, std::int64_t inner, Real* means) {
  const auto n = static_cast<double>(inner);
  Lanes<Real> squared;
  double squares_of_means = 0;  // of each row's mean, n times
  for (std::int64_t row = 0; row < rows; ++row) {
    Lanes<Real> sums;
    for_each_vector(
        x + row * inner, inner, Real(0), [&](int part, auto values) __attribute__((always_inline)) {
          sums.add(part, values);
          squared.add(part, values * values);
        });
    const double mean = static_cast<double>(sums.total()) / n;
    means[row] = static_cast<Real>(mean);
    squares_of_means += n * mean * mean;
  }
  const auto squares = static_cast<double>(squared.total());
  if (may_subtract(squares_of_means, squares)) {
    return {squares, squares - squares_of_means};
  }
  GradientSums sums;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Moments moments = moments_about(x + row * inner, inner, means[row]);
    means[row] = static_cast<Real>(moments.mean);
    sums.squares += cpu::squares(moments);
    sums.centred_squares += moments.centred_squares;
  }
  return sums;
}

template <class Real>
GradientSums measure_short_rows(const TensorStep& tensor, Range rows, Real* row_means) {
  const std::int64_t inner = tensor.layout.inner;
  // No lane sums more values than in a block of a long row.
  const std::int64_t group = least(kMeasureBlock / inner, kMeasureBlock / kLanes);
  Real buffer[kMeasureBlock];
  GradientSums sums;
  for (std::int64_t row = rows.begin; row < rows.end; row += group) {
    const std::int64_t count = least(group, rows.end - row);
    const GradientSums of_group = measure_row_group(
        as_real(tensor.gradient, tensor.gradient_dtype, row * inner, count * inner, buffer),
        count,
        inner,
        row_means + row);
    sums.squares += of_group.squares;
    sums.centred_squares += of_group.centred_squares;
  }
  return sums;
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
