// Sums over the processes of an MPI communicator.
#pragma once

#include <mpi.h>

#include <span>
#include <string_view>

namespace sing::mpi {

// Throws Error with MPI's text unless `result` is success. MPI's own way to handle errors is to end
// all processes; then no call returns such a result.
void check(int result, std::string_view call);

// Replaces the values by their sums over all processes, each of which calls it with as many values.
void sum(std::span<double> values, MPI_Comm communicator);
void sum(std::span<float> values, MPI_Comm communicator);

}  // namespace sing::mpi
