// Turns Ctrl-C into a flag that the training loop checks between steps.
#pragma once

#include <signal.h>

namespace sing::lab::command {

// While one exists, the first SIGINT or SIGTERM only makes requested() true, and the second one
// ends the process. A write beyond the file size limit is an error, not a signal.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;

 private:
  struct sigaction old_interrupt_{};
  struct sigaction old_terminate_{};
  struct sigaction old_file_size_{};
};

}  // namespace sing::lab::command
