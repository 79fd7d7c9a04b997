// The pass kernel: blocks take the items of passes besides measure and apply. These are the means
// of strided rows, and the statistics that some rules need between measure and apply.
#pragma once

#include "sing/backend/cuda/kernel/factors.cuh"
#include "sing/backend/cuda/kernel/matrix_input.cuh"
#include "sing/backend/cuda/kernel/rule_sums.cuh"
#include "sing/backend/cuda/kernel/step_kernel.cuh"

namespace sing::cuda {

struct PassShared {
  StridedShared strided;
  SumsShared sums;
  double matrix_sums[2 * kPassWarps];
  std::int64_t item;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ void run_rule_pass(const StepArguments& step, const WorkItem& item,
                                              PassShared& shared) {
  if (step_is_skipped(step) || load_result(&step.results[item.tensor]).updates == 0) {
    return;
  }
  if constexpr (kIsFactored<R>) {
    if (item.kind == WorkKind::kFactorRows) {
      factor_rows<R, Real>(step, item.tensor, item.index);
    } else if (item.kind == WorkKind::kFactorColumns) {
      factor_columns<R, Real>(step, item.tensor, item.index, shared.strided);
    } else if (item.kind == WorkKind::kMatrixMeans) {
      matrix_means<R, Real>(step, item.tensor, item.index, shared.matrix_sums);
    }
  }
  if constexpr (kIsOrthogonal<R>) {
    if (item.kind == WorkKind::kMatrixInput) {
      matrix_input<R, Real, G, P>(step, item.tensor, item.index);
    }
  }
  if constexpr (kHasSums<R>) {
    if (item.kind == WorkKind::kSums) {
      sum_chunk<R, Real, G, P>(step, item.tensor, item.index, shared.sums);
    }
  }
}

// Launch shape: as many blocks as fit on the device, one item per block at a time. No item waits
// for another.
template <class R, class Real, class G, class P>
__global__ void __launch_bounds__(kPassThreads, kPassBlocksPerMultiprocessor)
    pass_kernel(const __grid_constant__ StepArguments step) {
  __shared__ PassShared shared;
  for (;;) {
    if (threadIdx.x == 0) {
      shared.item = step.item_begin + static_cast<std::int64_t>(atomicAdd(&step.queue->next, 1ULL));
    }
    __syncthreads();
    const std::int64_t taken = shared.item;
    __syncthreads();
    if (taken >= step.item_end) {
      break;
    }
    const WorkItem item = step.items[taken];
    if (step.gradients[item.tensor].data == nullptr) {
      continue;
    }
    if (item.kind == WorkKind::kStridedMeans) {
      strided_means<Real>(step, item.tensor, item.index, shared.strided);
    } else {
      run_rule_pass<R, Real, G, P>(step, item, shared);
    }
  }
  if (threadIdx.x < 32) {
    leave_queue(step, gridDim.x);
  }
}

}  // namespace sing::cuda
