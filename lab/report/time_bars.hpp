// Draws the times of a training step as one bar per run.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

struct StepTime {
  double data = 0;  // seconds per step
  double forward_backward = 0;
  double optimizer = 0;

  double sum() const { return data + forward_backward + optimizer; }
};

// Returns means over the records. The first record includes the startup time of libraries and
// counts only if it is the only one. The means are not finite if nothing was recorded.
StepTime step_time(const run::RunRecord& run);

// Returns "" if no run has times.
std::string draw_time_bars(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
