// Tunes the learning rate and weight decay of an optimizer on a task.
#pragma once

#include <functional>
#include <iosfwd>

#include "lab/compare/cell_runner.hpp"
#include "lab/data/split.hpp"
#include "lab/tune/search.hpp"

namespace sing::lab::tune {

struct TuningRequest {
  std::string task;
  std::string optimizer;
  std::string protocol = "budget";
  std::int64_t epochs = 0;  // 0: as the flags say
  std::int64_t seed = 0;
  data::EvaluationSet evaluate_on = data::EvaluationSet::kValidation;
  double learning_rate = 0;     // the first one that the budget protocol tries
  double weight_decay = 0;      // used while learning rates are tried
  std::int64_t rate_runs = 7;   // budget protocol
  std::int64_t decay_runs = 4;  // budget protocol
  std::int64_t extensions = 4;  // paper protocol: places beyond either end of a grid
  bool rates_only = false;      // the weight decay is not tuned
  std::vector<std::string> train_flags;
};

struct Tuning {
  std::vector<Trial> trials;  // in the order they were run
  std::optional<Setting> best;
  std::vector<std::string> remarks;  // sentences on questions that the search left open
  bool stopped = false;
};

// Trains every run in its own folder of `place`. Runs are kept and resumed as by CellRunner, and
// tune.json is rewritten after each. Throws Error if a run failed, because the next choice depends
// on it, and std::invalid_argument for an unknown protocol.
Tuning run_tuning(const TuningRequest& request, const compare::Workplace& place, std::ostream& out,
                  const std::function<bool()>& stop);

// Returns the program's arguments for a setting, and the name of its run.
compare::Cell cell_of(const TuningRequest& request, const Setting& setting);

}  // namespace sing::lab::tune
