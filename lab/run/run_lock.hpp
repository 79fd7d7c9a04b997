// Only one process at a time writes to a run directory.
#pragma once

#include "lab/run/run_directory.hpp"
#include "sing/io/file_descriptor.hpp"

namespace sing::lab::run {

// Held until it is destroyed or the process ends, in whatever way it ends.
class RunLock {
 public:
  // Makes the folders of the run where they are missing. Throws FileError when another process
  // holds the run.
  explicit RunLock(const RunDirectory& directory);

 private:
  FileDescriptor file_;
};

}  // namespace sing::lab::run
