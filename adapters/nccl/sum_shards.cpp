// Enqueues NCCL's sum on the stream of the step.
#include "adapters/nccl/sum_shards.hpp"

#include <utility>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"

namespace sing::nccl {

void check(ncclResult_t result, std::string_view call) {
  if (result != ncclSuccess) {
    throw Error(
        fmt::format("[nccl] wanted {} to succeed, got {}", call, ncclGetErrorString(result)));
  }
}

SumShardsOnDevice sum_over(std::vector<ncclComm_t> communicators) {
  return [communicators = std::move(communicators)](double* values, std::size_t count,
                                                    std::int32_t sum_group, void* stream) {
    SING_CHECK(sum_group >= 0 && static_cast<std::size_t>(sum_group) < communicators.size(),
               "[nccl] wanted a sum group with one of {} communicators, got group {}",
               communicators.size(), sum_group);
    check(ncclAllReduce(values, values, count, ncclDouble, ncclSum,
                        communicators[static_cast<std::size_t>(sum_group)],
                        static_cast<cudaStream_t>(stream)),
          "ncclAllReduce");
  };
}

}  // namespace sing::nccl
