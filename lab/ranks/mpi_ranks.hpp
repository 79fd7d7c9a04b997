// Declares the ranks that MPI connects.
#pragma once

#include <memory>

#include "lab/ranks/ranks.hpp"

namespace sing::lab::ranks {

// Connects the processes that a launcher has started; see join_ranks(). Throws
// std::invalid_argument if the program has no MPI or finds another number of processes.
std::unique_ptr<Ranks> join_mpi(int launched);

}  // namespace sing::lab::ranks
