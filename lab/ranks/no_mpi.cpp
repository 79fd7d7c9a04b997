// Replaces mpi_ranks.cpp in a program built without MPI.
#include "lab/ranks/mpi_ranks.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::ranks {

std::unique_ptr<Ranks> join_mpi(int launched) {
  throw std::invalid_argument(fmt::format(
      "[ranks] wanted a program built with MPI to train with {} processes, got one without; "
      "install MPI (on Debian and Ubuntu: apt-get install libopenmpi-dev openmpi-bin) and build "
      "the program again",
      launched));
}

}  // namespace sing::lab::ranks
