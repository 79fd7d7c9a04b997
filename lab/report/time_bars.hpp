// Where the time of a training step goes, one bar a run.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

struct StepTime {
  double data = 0;  // seconds of a step
  double forward_backward = 0;
  double optimizer = 0;

  double sum() const { return data + forward_backward + optimizer; }
};

// Means over the records. The first one, with the time that libraries take to start, counts only
// where there is no other. Not finite where nothing was recorded.
StepTime step_time(const run::RunRecord& run);

// Empty if no run has times.
std::string draw_time_bars(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
