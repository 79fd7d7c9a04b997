// The kernels for float32 parameters and gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels full_step_kernels() { return make_step_kernels<float, float, float>(); }

}  // namespace sing::cuda
