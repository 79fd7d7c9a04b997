// Collects the kernels of all rules for one pair of storage types: gradients (G), parameters (P).
#pragma once

#include "sing/backend/cuda/kernel/pass_kernel.cuh"
#include "sing/backend/cuda/kernel/step_kernels.hpp"

namespace sing::cuda {

template <class Real, class G, class P>
StepKernels make_step_kernels() {
  StepKernels kernels{};
  std::size_t next = 0;
  for_each_rule_type([&]<class R>() {
    kernels.step[next] = reinterpret_cast<const void*>(&step_kernel<R, Real, G, P>);
    kernels.pass[next] = reinterpret_cast<const void*>(&pass_kernel<R, Real, G, P>);
    ++next;
  });
  return kernels;
}

}  // namespace sing::cuda
