// Finds the communicator of a sum group.
#include "adapters/mpi/sum_shards.hpp"

#include <utility>

#include "adapters/mpi/collective.hpp"
#include "sing/base/message.hpp"

namespace sing::mpi {

SumShards sum_over(std::vector<MPI_Comm> communicators) {
  return
      [communicators = std::move(communicators)](std::span<double> values, std::int32_t sum_group) {
        SING_CHECK(sum_group >= 0 && static_cast<std::size_t>(sum_group) < communicators.size(),
                   "[mpi] wanted a sum group with one of {} communicators, got group {}",
                   communicators.size(), sum_group);
        sum(values, communicators[static_cast<std::size_t>(sum_group)]);
      };
}

}  // namespace sing::mpi
