// Row means of tensors whose centralized axis is not the outermost, so that rows are strided.
#pragma once

#include "sing/backend/cuda/kernel/element_io.cuh"
#include "sing/backend/cuda/kernel/element_range.cuh"
#include "sing/backend/cuda/kernel/threads.cuh"

namespace sing::cuda {

struct StridedShared {
  double sums[kPassWarps][kStridedTile];
};

// Σ(g − centre) over the row of this lane, the same in all warps. Lanes hold neighboring rows, so
// that their loads are coalesced where inner is 1; the warps share the elements of each row.
template <class Real>
__device__ __forceinline__ double strided_row_sum(const TensorRecord& tensor,
                                                  const GradientRecord& gradient, std::int64_t row,
                                                  double centre, StridedShared& shared) {
  const Team team = block_team();
  double sum = 0;
  if (row < tensor.rows) {
    for (std::int64_t k = team.warp(); k < tensor.outer * tensor.inner; k += team.warps()) {
      const std::int64_t piece = quotient(k, tensor.inner);
      const std::int64_t i =
          (piece * tensor.rows + row) * tensor.inner + (k - piece * tensor.inner);
      sum += static_cast<double>(load_gradient<Real>(gradient, i)) - centre;
    }
  }
  __syncthreads();
  shared.sums[team.warp()][team.lane()] = sum;
  __syncthreads();
  double total = 0;
  for (int warp = 0; warp < team.warps(); ++warp) {
    total += shared.sums[warp][team.lane()];
  }
  return total;
}

// One block per tile of 32 rows; the gradient is read twice.
template <class Real>
__device__ __noinline__ void strided_means(const StepArguments& step, std::int64_t index,
                                           std::int64_t tile, StridedShared& shared) {
  const TensorRecord& tensor = step.tensors[index];
  const GradientRecord& gradient = step.gradients[index];
  if (!tensor.centralizes) {
    return;
  }
  const std::int64_t row = tile * kStridedTile + block_team().lane();
  const auto length = static_cast<double>(tensor.outer * tensor.inner);
  double mean = strided_row_sum<Real>(tensor, gradient, row, 0.0, shared) / length;
  mean += strided_row_sum<Real>(tensor, gradient, row, mean, shared) / length;
  if (row < tensor.rows && block_team().warp() == 0) {
    static_cast<Real*>(tensor.row_means)[row] = static_cast<Real>(mean);
  }
}

}  // namespace sing::cuda
