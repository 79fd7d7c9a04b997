// Chooses the color and dash of each run's curves.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// Returns class names, one entry per run. Runs that differ only in their seed have one color and
// different dashes. If there are more runs than styles, colors are repeated with other dashes.
std::vector<std::string> run_styles(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
