// Makes the ranks of one process or of several.
#include "lab/ranks/join_ranks.hpp"

#include "lab/ranks/launched_processes.hpp"
#include "lab/ranks/mpi_ranks.hpp"
#include "lab/ranks/one_process.hpp"

namespace sing::lab::ranks {

std::unique_ptr<Ranks> join_ranks() {
  const int launched = launched_processes();
  return launched == 1 ? std::make_unique<OneProcess>() : join_mpi(launched);
}

}  // namespace sing::lab::ranks
