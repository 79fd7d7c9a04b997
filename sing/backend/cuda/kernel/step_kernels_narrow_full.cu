// The kernels for 16-bit parameters with float32 gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels narrow_full_step_kernels() { return make_step_kernels<float, float, Bits16>(); }

}  // namespace sing::cuda
