// The kernels for 16-bit parameters and gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels narrow_step_kernels() { return make_step_kernels<float, Bits16, Bits16>(); }

}  // namespace sing::cuda
