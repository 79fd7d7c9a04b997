// The step kernels that compute in float; a file of its own so that it compiles beside the other.
#include "sing/backend/cuda/step_kernel.cuh"

namespace sing::cuda {

std::array<const void*, kRuleCount> float_step_kernels() { return make_step_kernels<float>(); }

}  // namespace sing::cuda
