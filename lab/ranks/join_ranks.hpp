// Finds out which processes train together.
#pragma once

#include <memory>

#include "lab/ranks/ranks.hpp"

namespace sing::lab::ranks {

// Connects this process with the others that mpirun has started, once per program; returns one
// rank without them. The end of the ranks waits for all of them, except while an exception is
// thrown: then mpirun ends the other ranks when this process ends. Throws std::invalid_argument in
// a program without MPI.
std::unique_ptr<Ranks> join_ranks();

}  // namespace sing::lab::ranks
