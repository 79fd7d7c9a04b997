// Adds up the sums of shards by MPI.
#pragma once

#include <mpi.h>

#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::mpi {

// Returns a function for Optimizer::set_sum_shards(): the processes of the sum group i are those of
// communicators[i]. The caller frees the communicators after the last step.
SumShards sum_over(std::vector<MPI_Comm> communicators);

}  // namespace sing::mpi
