// Turns Ctrl-C and its relatives into a flag that the training loop checks between steps.
#pragma once

#include <signal.h>

namespace sing::lab::command {

// While one exists, the first SIGINT, SIGTERM or SIGHUP only makes requested() true, and a second
// SIGINT or SIGTERM ends the process. A lost terminal may send SIGHUP twice, so its repetitions are
// ignored; under nohup it is ignored altogether. A write beyond the file size limit is an error,
// not a signal. So is a write to a closed pipe, also afterwards: the standard output's buffer is
// written once more when the process exits.
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
  struct sigaction old_hangup_{};
  struct sigaction old_file_size_{};
};

}  // namespace sing::lab::command
