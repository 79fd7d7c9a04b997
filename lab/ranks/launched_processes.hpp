// Counts the processes that a launcher has started.
#pragma once

namespace sing::lab::ranks {

// Returns the number of processes that mpirun or a launcher like it has started, 1 without one.
int launched_processes();

}  // namespace sing::lab::ranks
