// Clips gradients by their norm together, between the measure and the apply pass.
#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/backend/cuda/kernel/clip.hpp"
#include "sing/backend/cuda/kernel/threads.cuh"

namespace sing::cuda {
namespace {

// The norm of all finite gradients together, valid in thread 0.
__device__ double total_norm(const StepArguments& step) {
  __shared__ double shared[kPassWarps];
  const Team team = block_team();
  double squares[1] = {0};
  for (std::int64_t tensor = team.rank; tensor < step.tensor_count; tensor += team.size) {
    if (step.gradients[tensor].data != nullptr && step.results[tensor].finite != 0) {
      const double norm = step.tensors[tensor].progress->gradient_norm;
      squares[0] += norm * norm;
    }
  }
  block_sum(squares, shared);
  return ::sqrt(squares[0]);
}

// Launch shape: one thread per tensor. Every block adds up the squares of all tensors, in the same
// order: this takes less time than waiting for one block that does it.
__global__ void __launch_bounds__(kPassThreads)
    clip_kernel(const __grid_constant__ StepArguments step) {
  __shared__ double norm;
  const double found = total_norm(step);
  if (threadIdx.x == 0) {
    norm = step.optimizer->total_norm >= 0 ? step.optimizer->total_norm : found;
  }
  __syncthreads();
  const std::int64_t tensor = std::int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (tensor < step.tensor_count) {
    const double limit = step.groups[step.tensors[tensor].group].clip_norm;
    if (limit > 0) {
      step.results[tensor].factor *= clip_factor(limit, norm);
    }
  }
}

}  // namespace

void clip_results(const StepArguments& step, cudaStream_t stream) {
  const std::int64_t blocks = (step.tensor_count + kPassThreads - 1) / kPassThreads;
  clip_kernel<<<static_cast<unsigned int>(blocks), kPassThreads, 0, stream>>>(step);
  check(cudaGetLastError(), "to launch the clipping of gradients");
}

}  // namespace sing::cuda
