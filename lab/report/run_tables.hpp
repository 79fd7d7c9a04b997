// Makes the page's tables of the results and options of runs.
#pragma once

#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// Writes one row per run with a swatch of its style. A diverged run has no numbers.
std::string results_table(const std::vector<run::RunRecord>& runs,
                          const std::vector<std::string>& styles);

// Writes the options that differ with one row per run, and those that all runs share with one row
// per option.
std::string options_tables(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
