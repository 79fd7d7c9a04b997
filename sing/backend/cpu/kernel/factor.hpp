// The factor pass of rules that keep their second moment as row and column means.
#pragma once

#include "sing/backend/cpu/kernel/block.hpp"
#include "sing/backend/cpu/kernel/lanes.hpp"

namespace sing::cpu::SING_ISA {
namespace {

template <class Real>
void add_to(const Real* __restrict from, Real* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] += from[i];
  }
}

// Adds up the rule's factor inputs over rows and columns. Calls take_row(row, sum) for each row.
template <class R, class Real, class TakeRow>
void sum_factor_inputs(const UpdateArguments& update, IndexRange matrix_rows, void* column_sums,
                       TakeRow take_row) {
  const TensorStep& tensor = *update.tensor;
  const std::int64_t columns = tensor.layout.columns;
  const typename R::template Constants<Real> constants = constants_of<R, Real>(update);
  auto* sums = static_cast<Real*>(column_sums);
  for (std::int64_t j = 0; j < columns; ++j) {
    sums[j] = 0;
  }
  Real input[kBlock];
  for (std::int64_t row = matrix_rows.begin; row < matrix_rows.end; ++row) {
    double row_sum = 0;
    for (std::int64_t j = 0; j < columns; j += kBlock) {
      const std::int64_t count = least(kBlock, columns - j);
      standardize_block(update, row * columns + j, count, input);
      for (std::int64_t i = 0; i < count; ++i) {
        input[i] = R::factor_input(constants, input[i]);
      }
      row_sum += static_cast<double>(sum_of(static_cast<const Real*>(input), count));
      add_to(static_cast<const Real*>(input), sums + j, count);
    }
    take_row(row, row_sum);
  }
}

template <class R, class Real>
void factor_rows(const UpdateArguments& update, IndexRange matrix_rows, void* column_sums) {
  const auto columns = static_cast<double>(update.tensor->layout.columns);
  const typename R::template Constants<Real> constants = constants_of<R, Real>(update);
  Real* slots = row_slot<R, Real>(*update.tensor);
  sum_factor_inputs<R, Real>(
      update, matrix_rows, column_sums, [&](std::int64_t row, double row_sum) {
        slots[row] = R::factor_blend(constants, slots[row], static_cast<Real>(row_sum / columns));
      });
}

template <class R, class Real>
void factor_sums(const UpdateArguments& update, IndexRange matrix_rows, double* row_sums,
                 void* column_sums) {
  sum_factor_inputs<R, Real>(update, matrix_rows, column_sums,
                             [&](std::int64_t row, double row_sum) { row_sums[row] = row_sum; });
}

template <class R, class Real>
void factor_columns(const UpdateArguments& update, std::int64_t matrix, void* column_sums,
                    int parts) {
  const TensorStep& tensor = *update.tensor;
  const Layout& layout = tensor.layout;
  const typename R::template Constants<Real> constants = constants_of<R, Real>(update);
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
  static_cast<Real*>(const_cast<void*>(update.mean_of_rows))[matrix] =
      static_cast<Real>(static_cast<double>(sum_of(rows, layout.matrix_rows)) /
                        static_cast<double>(layout.matrix_rows));
}

}  // namespace
}  // namespace sing::cpu::SING_ISA
