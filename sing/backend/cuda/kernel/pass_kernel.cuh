// The kernel of passes that blocks share: scattered row means, and what rules with statistics of
// their own need between measure and apply.
#pragma once

#include "sing/backend/cuda/kernel/clip.cuh"
#include "sing/backend/cuda/kernel/factors.cuh"
#include "sing/backend/cuda/kernel/step_kernel.cuh"

namespace sing::cuda {

struct PassShared {
  StridedShared strided;
  SumsShared sums;
  double matrix_sums[2 * kPassWarps];
  double clip[kPassWarps];
  std::int64_t item;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ void run_rule_pass(const StepArguments& step, const WorkItem& item,
                                              PassShared& shared) {
  if (step_is_skipped(step) || load_verdict(&step.verdicts[item.tensor]).updates == 0) {
    return;
  }
  if constexpr (requires(const R& rule) { rule.clip_norm; }) {
    if (item.work == Work::kClip) {
      clip_tensor<R, Real>(step, item.tensor, shared.clip);
    }
  }
  if constexpr (kIsFactored<R>) {
    if (item.work == Work::kFactorRows) {
      factor_rows<R, Real>(step, item.tensor, item.index);
    } else if (item.work == Work::kFactorColumns) {
      factor_columns<R, Real>(step, item.tensor, item.index, shared.strided);
    } else if (item.work == Work::kMatrixMeans) {
      matrix_means<R, Real>(step, item.tensor, item.index, shared.matrix_sums);
    }
  }
  if constexpr (kIsOrthogonal<R>) {
    if (item.work == Work::kMatrixInput) {
      matrix_input<R, Real, G, P>(step, item.tensor, item.index);
    }
  }
  if constexpr (kHasSums<R>) {
    if (item.work == Work::kSums) {
      sum_chunk<R, Real, G, P>(step, item.tensor, item.index, shared.sums);
    }
  }
}

// Launch shape: as the step kernel's, with an item a block. No item waits for another.
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
    if (item.work == Work::kStridedMeans) {
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
