// Reads the number of processes from the environment, because starting MPI takes time that a
// training of one process need not spend.
#include "lab/ranks/join_ranks.hpp"

#include <algorithm>
#include <cstdlib>

#include "lab/ranks/mpi_ranks.hpp"
#include "lab/ranks/one_process.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::ranks {

int launched_processes() {
  // Set by Open MPI; by MPICH, Intel MPI and Slurm.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* const text = std::getenv(variable)) {
      return std::max(1, parse_number<int>(text).value_or(1));
    }
  }
  return 1;
}

std::unique_ptr<Ranks> join_ranks() {
  const int launched = launched_processes();
  return launched == 1 ? std::make_unique<OneProcess>() : join_mpi(launched);
}

}  // namespace sing::lab::ranks
