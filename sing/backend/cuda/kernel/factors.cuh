// Passes of rules that keep statistics of their own: row and column factors, sums over a tensor.
#pragma once

#include "sing/backend/cuda/kernel/apply.cuh"
#include "sing/backend/cuda/kernel/strided_means.cuh"

namespace sing::cuda {

// factor_input of any element of one concluded tensor.
template <class R, class Real>
class FactorInput {
 public:
  __device__ FactorInput(const StepArguments& step, std::int64_t index)
      : gradient_(step.gradients[index]),
        conclusion_(load_conclusion<R, Real>(step, index)),
        means_(step.tensors[index]) {}

  __device__ double operator()(std::int64_t i) const {
    const Real value =
        standardized(load_gradient<Real>(gradient_, i), means_(i), conclusion_.factor);
    return static_cast<double>(R::factor_input(conclusion_.constants, value));
  }

 private:
  GradientRecord gradient_;
  Conclusion<R, Real> conclusion_;
  RowMeans<Real> means_;
};

template <class R, class Real>
__device__ __forceinline__ void blend_factor(const StepArguments& step, std::int64_t index,
                                             Real* factor, double mean) {
  const Beginning<R, Real>& beginning = *beginning_of<R, Real>(step, index);
  *factor = R::factor_blend(beginning.constants, *factor, static_cast<Real>(mean));
}

// A warp a matrix row.
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

// Short columns: a thread each. Long ones: a lane each, the warps sharing the rows.
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

// Means of the row factors: a thread a matrix of few rows, else the block for one matrix.
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
  team_sum(team, sum, shared);
  if (team.rank == 0) {
    means[tile] = static_cast<Real>(sum[0] / length);
  }
}

// True in every thread of the block that arrives last of `count`.
__device__ __forceinline__ bool block_arrives_last(unsigned int* counter, std::int64_t count,
                                                   int& shared_flag) {
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool last = warp_arrives_last(counter, count);
    if (threadIdx.x == 0) {
      shared_flag = last ? 1 : 0;
    }
  }
  __syncthreads();
  return shared_flag != 0;
}

struct SumsShared {
  double sums[4 * kPassWarps];
  int arrived_last;
};

// This thread's share of a rule's sums over one chunk, one element at a time.
template <class R, class Real, class G, class P>
__device__ __noinline__ void add_sums(const StepArguments& step, std::int64_t index,
                                      std::int64_t chunk, double (&totals)[kSumCount<R>]) {
  visit_elements<R, Real, G, P>(
      step, index, chunk_range(step.tensors[index], chunk), block_team(),
      [&](const auto& view, int /*i*/, const auto& /*loaded*/, const auto& elements) {
        Real values[kSumCount<R>];
        R::sums(view.conclusion.constants, elements.element[0], elements.state[0], values);
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          totals[k] += static_cast<double>(values[k]);
        }
      });
}

// One chunk of the matrix that a rule wants orthogonal.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void matrix_input(const StepArguments& step, std::int64_t index,
                                             std::int64_t chunk) {
  const TensorRecord& tensor = step.tensors[index];
  const Range range = chunk_range(tensor, chunk);
  Real* out = static_cast<Real*>(step.matrices) + tensor.matrix_begin + range.begin;
  visit_elements<R, Real, G, P>(
      step, index, range, block_team(),
      [&](const auto& view, int i, const auto& /*loaded*/, const auto& elements) {
        out[i] = R::matrix_input(view.conclusion.constants, elements.element[0], elements.state[0]);
      });
}

// One chunk of a rule's own sums; the last chunk of a tensor finishes the rule's constants.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void sum_chunk(const StepArguments& step, std::int64_t index,
                                          std::int64_t chunk, SumsShared& shared) {
  constexpr int kCount = static_cast<int>(kSumCount<R>);
  static_assert(kCount <= 4, "a chunk has room for four sums");
  const Team team = block_team();
  const TensorRecord& tensor = step.tensors[index];
  double sums[kSumCount<R>] = {};
  add_sums<R, Real, G, P>(step, index, chunk, sums);
  team_sum(team, sums, shared.sums);
  auto* partials = reinterpret_cast<double*>(step.partials + tensor.first_partial);
  if (team.rank == 0) {
    for (int k = 0; k < kCount; ++k) {
      partials[chunk * 4 + k] = sums[k];
    }
  }
  if (!block_arrives_last(&step.tensor_done[index], tensor.chunks, shared.arrived_last)) {
    return;
  }
  for (int k = 0; k < kCount; ++k) {
    sums[k] = 0;
    for (std::int64_t c = team.rank; c < tensor.chunks; c += team.size) {
      sums[k] += __ldcg(&partials[c * 4 + k]);
    }
  }
  team_sum(team, sums, shared.sums);
  if (team.rank == 0) {
    Beginning<R, Real>& beginning = *beginning_of<R, Real>(step, index);
    R::finish(beginning.constants, sums, tensor.size);
    advance<R, Real>(tensor, beginning);
  }
}

}  // namespace sing::cuda
