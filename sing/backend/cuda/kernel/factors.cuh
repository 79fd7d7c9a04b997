// Passes of rules that keep the second moment as row and column factors.
#pragma once

#include "sing/backend/cuda/kernel/strided_means.cuh"
#include "sing/backend/cuda/kernel/update.cuh"

namespace sing::cuda {

// R::factor_input of any element of a measured tensor.
template <class R, class Real>
class FactorInput {
 public:
  __device__ FactorInput(const StepArguments& step, std::int64_t index)
      : gradient_(step.gradients[index]),
        constants_(load_constants<R, Real>(step, index)),
        means_(step.tensors[index]) {}

  __device__ double operator()(std::int64_t i) const {
    const Real value =
        standardized(load_gradient<Real>(gradient_, i), means_(i), constants_.factor);
    return static_cast<double>(R::factor_input(constants_.rule, value));
  }

 private:
  GradientRecord gradient_;
  TensorConstants<R, Real> constants_;
  RowMeans<Real> means_;
};

template <class R, class Real>
__device__ __forceinline__ void blend_factor(const StepArguments& step, std::int64_t index,
                                             Real* factor, double mean) {
  const PreparedConstants<R, Real>& prepared = *prepared_of<R, Real>(step, index);
  *factor = R::factor_blend(prepared.rule, *factor, static_cast<Real>(mean));
}

// One warp per matrix row.
template <class R, class Real>
__device__ __forceinline__ void factor_rows(const StepArguments& step, std::int64_t index,
                                            std::int64_t tile) {
  const TensorRecord& tensor = step.tensors[index];
  const FactorInput<R, Real> input(step, index);
  const Team team = block_team();
  const std::int64_t rows = tensor.matrices * tensor.matrix_rows;
  const std::int64_t end = (tile + 1) * kFactorRowTile;
  Real* factors = static_cast<Real*>(tensor.slots[kElementSlotCount<R>]);
  for (std::int64_t row = tile * kFactorRowTile + team.warp(); row < rows && row < end;
       row += team.warps()) {
    double sum = 0;
    for (std::int64_t k = team.lane(); k < tensor.columns; k += 32) {
      sum += input(row * tensor.columns + k);
    }
    sum = warp_sum(sum);
    if (team.lane() == 0) {
      blend_factor<R>(step, index, factors + row, sum / static_cast<double>(tensor.columns));
    }
  }
}

// Short columns: one thread per column. Long ones: one lane per column, and the warps share the
// rows.
template <class R, class Real>
__device__ __forceinline__ void factor_columns(const StepArguments& step, std::int64_t index,
                                               std::int64_t tile, StridedShared& shared) {
  const TensorRecord& tensor = step.tensors[index];
  const FactorInput<R, Real> input(step, index);
  const Team team = block_team();
  const bool alone = tensor.matrix_rows <= kFewMatrixRows;
  const std::int64_t columns = tensor.matrices * tensor.columns;
  const std::int64_t width = factor_column_tile(tensor.matrix_rows);
  Real* factors = static_cast<Real*>(tensor.slots[kElementSlotCount<R> + 1]);
  const auto length = static_cast<double>(tensor.matrix_rows);
  const auto sum_of = [&](std::int64_t column, std::int64_t first, std::int64_t stride) {
    const std::int64_t matrix = quotient(column, tensor.columns);
    const std::int64_t base =
        matrix * tensor.matrix_rows * tensor.columns + (column - matrix * tensor.columns);
    double sum = 0;
    for (std::int64_t row = first; row < tensor.matrix_rows; row += stride) {
      sum += input(base + row * tensor.columns);
    }
    return sum;
  };
  if (alone) {
    for (std::int64_t k = team.rank; k < width && tile * width + k < columns; k += team.size) {
      const std::int64_t column = tile * width + k;
      blend_factor<R>(step, index, factors + column, sum_of(column, 0, 1) / length);
    }
    return;
  }
  const std::int64_t column = tile * width + team.lane();
  const double part = column < columns ? sum_of(column, team.warp(), team.warps()) : 0.0;
  __syncthreads();
  shared.sums[team.warp()][team.lane()] = part;
  __syncthreads();
  if (team.warp() == 0 && column < columns) {
    double sum = 0;
    for (int warp = 0; warp < team.warps(); ++warp) {
      sum += shared.sums[warp][team.lane()];
    }
    blend_factor<R>(step, index, factors + column, sum / length);
  }
}

// Means of the row factors: one thread per matrix of few rows, else one block per matrix.
template <class R, class Real>
__device__ __forceinline__ void matrix_means(const StepArguments& step, std::int64_t index,
                                             std::int64_t tile, double* shared) {
  const TensorRecord& tensor = step.tensors[index];
  const Team team = block_team();
  const Real* factors = static_cast<const Real*>(tensor.slots[kElementSlotCount<R>]);
  Real* means = static_cast<Real*>(tensor.matrix_means);
  const auto length = static_cast<double>(tensor.matrix_rows);
  const auto sum_of = [&](std::int64_t matrix, std::int64_t first, std::int64_t stride) {
    double sum = 0;
    for (std::int64_t row = first; row < tensor.matrix_rows; row += stride) {
      sum += static_cast<double>(factors[matrix * tensor.matrix_rows + row]);
    }
    return sum;
  };
  const std::int64_t width = matrix_tile(tensor.matrix_rows);
  if (width > 1) {
    for (std::int64_t k = team.rank; k < width && tile * width + k < tensor.matrices;
         k += team.size) {
      means[tile * width + k] = static_cast<Real>(sum_of(tile * width + k, 0, 1) / length);
    }
    return;
  }
  double sum[1] = {sum_of(tile, team.rank, team.size)};
  block_sum(sum, shared);
  if (team.rank == 0) {
    means[tile] = static_cast<Real>(sum[0] / length);
  }
}

}  // namespace sing::cuda
