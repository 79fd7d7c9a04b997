// Adds up the sums of shards by NCCL.
#pragma once

#include <nccl.h>

#include <string_view>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::nccl {

// Throws Error with NCCL's text unless `result` is success.
void check(ncclResult_t result, std::string_view call);

// Returns a function for Optimizer::set_sum_shards_on_device(): the processes of the sum group i
// are those of communicators[i], which are on the optimizer's device. The caller destroys the
// communicators after the optimizer and after the graphs in which its steps are captured.
SumShardsOnDevice sum_over(std::vector<ncclComm_t> communicators);

}  // namespace sing::nccl
