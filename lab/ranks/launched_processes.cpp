// Reads the number of processes from the environment, because starting MPI takes time that a
// command of one process need not spend.
#include "lab/ranks/launched_processes.hpp"

#include <algorithm>
#include <cstdlib>

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

}  // namespace sing::lab::ranks
