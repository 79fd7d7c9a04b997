// Results and options of runs as tables of the page.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// One row a run, each with a swatch of its style. A diverged run has no numbers.
std::string results_table(const std::vector<run::RunRecord>& runs,
                          const std::vector<std::string>& styles);

// The options that differ, one row a run, and those that all runs share, one row an option.
std::string options_tables(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
