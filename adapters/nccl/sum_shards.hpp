// Adds up the sums of shards by NCCL.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string_view>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::nccl {

// Throws Error with NCCL's text if `result` is no success.
void check(ncclResult_t result, std::string_view call);

// Returns a function for Optimizer::set_sum_shards(): the processes of the sum group i are those of
// communicators[i], which are on one device. The vectors are in host memory; they pass through a
// buffer on the device, and the function waits for `stream`. The caller destroys the communicators
// and the stream after the optimizer.
SumShards sum_over(std::vector<ncclComm_t> communicators, cudaStream_t stream);

}  // namespace sing::nccl
