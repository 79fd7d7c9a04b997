// The kernels for float64 parameters and gradients.
#include "sing/backend/cuda/kernel/make_step_kernels.cuh"

namespace sing::cuda {

StepKernels double_step_kernels() { return make_step_kernels<double, double, double>(); }

}  // namespace sing::cuda
