// Runs the trainings of a comparison.
#pragma once

#include "lab/compare/cell_runner.hpp"

namespace sing::lab::compare {

struct Comparison {
  std::vector<Result> results;  // in the order of the cells
  bool stopped = false;
  std::vector<std::string> failures;  // names of the runs
};

// Throws as check_commands does, before anything is started.
Comparison run_comparison(const std::vector<Cell>& cells, const Workplace& place, std::ostream& out,
                          const std::function<bool()>& stop);

}  // namespace sing::lab::compare
