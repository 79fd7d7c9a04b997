// Exchanges parts of matrices by MPI.
#pragma once

#include <mpi.h>

#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::mpi {

// Returns a function for Optimizer::set_exchange_parts(): the processes of the sum group i are
// those of communicators[i], and Shard::own_part is a process's rank there. The caller frees the
// communicators after the last step.
ExchangeParts exchange_over(std::vector<MPI_Comm> communicators);

}  // namespace sing::mpi
