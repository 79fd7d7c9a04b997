// Finds what the runs of a page were scored by and measured in.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// Returns the name of the runs' accuracy: "score" if they have different ones.
std::string score_name(const std::vector<run::RunRecord>& runs);
// Returns the unit of the runs' speed: "examples" if they have different ones.
std::string unit_of(const std::vector<run::RunRecord>& runs);
// Returns the names of the other scores of all runs, in the order in which they first occur.
std::vector<std::string> other_scores(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
