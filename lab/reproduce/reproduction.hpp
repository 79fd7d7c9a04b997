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
  bool knows_tasks = false;     // false: the program that trains reports unknown tasks
  std::set<std::string> tasks;  // tasks that the program has
};

// The state of a row: the reason why it cannot be trained here, or its runs with seeds 0 … seeds −
// 1.
struct RowState {
  const PaperRow* row = nullptr;
  std::string missing;               // empty if the row can be trained
  std::vector<compare::Cell> cells;  // one per seed
  std::vector<compare::Result> results;
};

// Returns the rows with the results that their run directories already hold; starts nothing. Throws
// std::invalid_argument for a recipe that cannot be read or names no optimizer.
std::vector<RowState> row_states(const PaperTable& table, const ReproductionRequest& request,
                                 const compare::Workplace& place);

struct Reproduction {
  std::vector<RowState> rows;
  std::vector<std::string> failures;  // names of the runs
  bool stopped = false;
};

// Trains the runs without a result, all rows with seed 0 first, and prints which rows are left out.
// Throws like row_states and compare::check_commands, before anything is started.
Reproduction run_reproduction(const PaperTable& table, const ReproductionRequest& request,
                              const compare::Workplace& place, std::ostream& out,
                              const std::function<bool()>& stop);

// Returns the scale's flags for a task and the data folder of the train flags, without the flags
// that the train flags set themselves.
ScaleFlags flags_of(std::string_view task, const ReproductionRequest& request);

// Returns what the scale says of the tasks of the table, each notice once.
std::string notice_of(const PaperTable& table, const ReproductionRequest& request);

}  // namespace sing::lab::reproduce
