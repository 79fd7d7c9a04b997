// Clips gradients by their norm together, between the measure and the apply pass.
#pragma once

#include <cuda_runtime_api.h>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

// Scales the factors in the results of all tensors whose group clips. All tensors must have been
// measured by earlier launches.
void clip_results(const StepArguments& step, cudaStream_t stream);

}  // namespace sing::cuda
