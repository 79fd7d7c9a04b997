// Trains the rows of one of the paper's tables.
#pragma once

#include <functional>
#include <iosfwd>
#include <set>

#include "lab/compare/cell_runner.hpp"
#include "lab/reproduce/paper_tables.hpp"
#include "lab/reproduce/scale.hpp"

namespace sing::lab::reproduce {

struct ReproductionRequest {
  std::filesystem::path recipes;
  std::string scale = "full";
  std::int64_t seeds = 1;
  std::vector<std::string> train_flags;
  bool knows_tasks = false;     // else the program that trains is the one to say what it has
  std::set<std::string> tasks;  // of the program
};

// What is known of a row: why it cannot be trained here, or its runs of seeds 0 … seeds − 1.
struct RowState {
  const PaperRow* row = nullptr;
  std::string missing;               // empty: it can be trained
  std::vector<compare::Cell> cells;  // a seed each
  std::vector<compare::Result> results;
};

// The rows and what their run directories already hold; starts nothing. Throws
// std::invalid_argument for a recipe that cannot be read or says no optimizer.
std::vector<RowState> row_states(const PaperTable& table, const ReproductionRequest& request,
                                 const compare::Workplace& place);

struct Reproduction {
  std::vector<RowState> rows;
  std::vector<std::string> failures;  // names of the runs
  bool stopped = false;
};

// Trains what has no result yet, all rows with seed 0 first; says which rows are left out. Throws
// as row_states and compare::check_commands do, before anything is started.
Reproduction run_reproduction(const PaperTable& table, const ReproductionRequest& request,
                              const compare::Workplace& place, std::ostream& out,
                              const std::function<bool()>& stop);

// The scale's flags for the table's task and the data folder of the train flags, less what these
// say themselves.
ScaleFlags flags_of(const PaperTable& table, const ReproductionRequest& request);

}  // namespace sing::lab::reproduce
