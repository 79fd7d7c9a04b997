// Ensures that only one process at a time writes to a run directory.
#pragma once

#include "lab/run/run_directory.hpp"
#include "sing/io/file_descriptor.hpp"

namespace sing::lab::run {

// The lock is held until it is destroyed or the process ends in any way.
class RunLock {
 public:
  // Creates missing folders of the run. Throws FileError if another process holds the run.
  explicit RunLock(const RunDirectory& directory);

 private:
  FileDescriptor file_;
};

}  // namespace sing::lab::run
