// Tunes learning rate and weight decay of an optimizer on a task, one `sing train` after the other.
#pragma once

#include <functional>
#include <iosfwd>

#include "lab/compare/cell_runner.hpp"
#include "lab/tune/search.hpp"

namespace sing::lab::tune {

struct TuningRequest {
  std::string task;
  std::string optimizer;
  std::string protocol = "paper";
  std::int64_t epochs = 0;  // 0: as the flags say
  std::int64_t seed = 0;
  double weight_decay = 0;      // while learning rates are tried
  std::int64_t extensions = 4;  // places beyond either end of a grid
  bool rates_only = false;      // of the paper's protocol, leaving the weight decay as it is
  std::vector<std::string> train_flags;
};

struct Tuning {
  std::vector<Trial> trials;  // in the order in which they were run
  Places rates;
  Places decays;
  std::optional<Setting> best;
  std::vector<std::string> remarks;  // sentences on what the search could not settle
  bool stopped = false;
};

// Every run under its own folder of `place`, kept and resumed as CellRunner does; tune.json is
// written anew after each. Throws Error if a run failed, since what to try next hangs on it, and
// std::invalid_argument for a protocol that is none.
Tuning run_tuning(const TuningRequest& request, const compare::Workplace& place, std::ostream& out,
                  const std::function<bool()>& stop);

// The program's arguments for a setting, and the name of its run.
compare::Cell cell_of(const TuningRequest& request, const Setting& setting);

}  // namespace sing::lab::tune
