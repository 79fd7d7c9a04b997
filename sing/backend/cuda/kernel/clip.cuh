// Clipping by the norm of all gradients together.
#pragma once

#include "sing/backend/cuda/kernel/tensor_constants.cuh"

namespace sing::cuda {

// Scales one tensor's factor, by one block. Every such block adds up the squares of all tensors, in
// the same order: this costs less than waiting for one block that does it.
template <class R, class Real>
__device__ __forceinline__ void clip_tensor(const StepArguments& step, std::int64_t index,
                                            double* shared) {
  const Team team = block_team();
  double squares[1] = {0};
  for (std::int64_t tensor = team.rank; tensor < step.tensor_count; tensor += team.size) {
    if (step.gradients[tensor].data != nullptr) {
      squares[0] += __ldcg(&step.squares[tensor]);
    }
  }
  block_sum(squares, shared);
  const GroupRecord& group = step.groups[step.tensors[index].group];
  const R& rule = *std::launder(reinterpret_cast<const R*>(group.rule));
  if (team.rank == 0 && rule.clip_norm.has_value()) {
    double& factor = step.results[index].factor;
    factor = static_cast<double>(
        static_cast<Real>(factor * clip_factor(*rule.clip_norm, ::sqrt(squares[0]))));
  }
}

}  // namespace sing::cuda
