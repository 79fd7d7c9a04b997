// The pass that writes what a rule makes orthogonal, before the products of newton_schulz.hpp.
#pragma once

#include "sing/backend/cuda/kernel/update.cuh"

namespace sing::cuda {

// Writes one chunk of the matrix that is made orthogonal.
template <class R, class Real, class G, class P>
__device__ __forceinline__ void matrix_input(const StepArguments& step, std::int64_t index,
                                             std::int64_t chunk) {
  const TensorRecord& tensor = step.tensors[index];
  const ElementRange range = chunk_range(tensor, chunk);
  Real* out = static_cast<Real*>(step.matrices) + tensor.matrix_begin + range.begin;
  visit_elements<R, Real, G, P>(
      step, index, range, block_team(),
      [&](const auto& view, int i, const auto& /*loaded*/, const auto& elements) {
        out[i] = R::matrix_input(view.constants.rule, elements.element[0], elements.state[0]);
      });
}

}  // namespace sing::cuda
