// Limits the norm of all gradients together: what one tensor's gradient is scaled by.
#pragma once

#include "sing/backend/cuda/kernel/conclude.cuh"

namespace sing::cuda {

// By one block for each tensor: all of them add up the same few numbers in the same order, which
// costs less than waiting for one that does.
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
  team_sum(team, squares, shared);
  const GroupRecord& group = step.groups[step.tensors[index].group];
  const R& rule = *std::launder(reinterpret_cast<const R*>(group.rule));
  if (team.rank == 0 && rule.clip_norm.has_value()) {
    double& factor = step.verdicts[index].factor;
    factor = static_cast<double>(
        static_cast<Real>(factor * clip_factor(*rule.clip_norm, ::sqrt(squares[0]))));
  }
}

}  // namespace sing::cuda
