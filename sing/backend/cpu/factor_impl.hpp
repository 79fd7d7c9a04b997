// Passes of rules that keep their second moment as row and column means. Part of kernels_impl.hpp.

template <class R, class Real>
Real* row_slot(const TensorStep& tensor) {
  return static_cast<Real*>(tensor.slots[kElementSlotCount<R>]);
}

template <class R, class Real>
Real* column_slot(const TensorStep& tensor) {
  return static_cast<Real*>(tensor.slots[kElementSlotCount<R> + 1]);
}

template <class R, class Real>
const typename R::template Constants<Real>& constants_of(const TensorPass& pass) {
  return *static_cast<const typename R::template Constants<Real>*>(pass.constants);
}

template <class Real>
void add_to(const Real* __restrict from, Real* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] += from[i];
  }
}

template <class R, class Real>
void factor_rows(const TensorPass& pass, Range matrix_rows, void* column_sums) {
  const TensorStep& tensor = *pass.tensor;
  const std::int64_t columns = tensor.layout.columns;
  const typename R::template Constants<Real> constants = constants_of<R, Real>(pass);
  auto* sums = static_cast<Real*>(column_sums);
  for (std::int64_t j = 0; j < columns; ++j) {
    sums[j] = 0;
  }
  Real input[kApplyBlock];
  for (std::int64_t row = matrix_rows.begin; row < matrix_rows.end; ++row) {
    double row_sum = 0;
    for (std::int64_t j = 0; j < columns; j += kApplyBlock) {
      const std::int64_t count = least(kApplyBlock, columns - j);
      standardize_block(pass, row * columns + j, count, input);
      for (std::int64_t i = 0; i < count; ++i) {
        input[i] = R::factor_input(constants, input[i]);
      }
      row_sum += static_cast<double>(sum_of(static_cast<const Real*>(input), count));
      add_to(static_cast<const Real*>(input), sums + j, count);
    }
    Real& slot = row_slot<R, Real>(tensor)[row];
    slot =
        R::factor_blend(constants, slot, static_cast<Real>(row_sum / static_cast<double>(columns)));
  }
}

template <class R, class Real>
void factor_columns(const TensorPass& pass, std::int64_t matrix, void* column_sums, int parts) {
  const TensorStep& tensor = *pass.tensor;
  const Layout& layout = tensor.layout;
  const typename R::template Constants<Real> constants = constants_of<R, Real>(pass);
  auto* sums = static_cast<Real*>(column_sums);
  for (int part = 1; part < parts; ++part) {
    add_to(static_cast<const Real*>(sums) + part * layout.columns, sums, layout.columns);
  }
  Real* slot = column_slot<R, Real>(tensor) + matrix * layout.columns;
  const auto inverse_rows = static_cast<Real>(1 / static_cast<double>(layout.matrix_rows));
  for (std::int64_t j = 0; j < layout.columns; ++j) {
    slot[j] = R::factor_blend(constants, slot[j], sums[j] * inverse_rows);
  }
  const Real* rows = row_slot<R, Real>(tensor) + matrix * layout.matrix_rows;
  static_cast<Real*>(const_cast<void*>(pass.mean_of_rows))[matrix] =
      static_cast<Real>(static_cast<double>(sum_of(rows, layout.matrix_rows)) /
                        static_cast<double>(layout.matrix_rows));
}

// The factored second moments of elements [begin, begin + count); nothing for other rules.
template <class R, class Real>
void estimate_block(const TensorPass& pass, std::int64_t begin, std::int64_t count, Real* to) {
  if constexpr (kIsFactored<R>) {
    const TensorStep& tensor = *pass.tensor;
    const Layout& layout = tensor.layout;
    if (!layout.factored()) {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = 0;
      }
      return;
    }
    const auto* means = static_cast<const Real*>(pass.mean_of_rows);
    std::int64_t i = 0;
    while (i < count) {
      const std::int64_t row = (begin + i) / layout.columns;
      const std::int64_t column = (begin + i) % layout.columns;
      const std::int64_t run = least(count - i, layout.columns - column);
      const std::int64_t matrix = row / layout.matrix_rows;
      const Real row_value = row_slot<R, Real>(tensor)[row];
      const Real* columns = column_slot<R, Real>(tensor) + matrix * layout.columns + column;
      for (std::int64_t k = 0; k < run; ++k) {
        to[i + k] = R::factor_estimate(row_value, columns[k], means[matrix]);
      }
      i += run;
    }
  }
}
