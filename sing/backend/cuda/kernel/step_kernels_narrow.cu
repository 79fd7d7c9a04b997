// The kernels for 16-bit parameters and gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels narrow_step_kernels() { return make_step_kernels<float, Sixteen, Sixteen>(); }

}  // namespace sing::cuda
