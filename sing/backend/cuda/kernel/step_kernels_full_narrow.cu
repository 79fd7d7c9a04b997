// The kernels for float32 parameters with 16-bit gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels full_narrow_step_kernels() { return make_step_kernels<float, Bits16, float>(); }

}  // namespace sing::cuda
