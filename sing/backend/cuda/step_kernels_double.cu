// The step kernels that compute in double; a file of its own so that it compiles beside the other.
#include "sing/backend/cuda/step_kernel.cuh"

namespace sing::cuda {

std::array<const void*, kRuleCount> double_step_kernels() { return make_step_kernels<double>(); }

}  // namespace sing::cuda
