// Defines one training of a tuning: the setting that was tried and its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/compare/result_table.hpp"

namespace sing::lab::tune {

struct Setting {
  double learning_rate = 0;
  double weight_decay = 0;
  std::int64_t epochs = 0;  // 0: as the training's flags say

  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Trial {
  Setting setting;
  std::string run;                    // name of its directory
  std::optional<run::EndRecord> end;  // none: the program ended without a result

  bool finished() const { return end && end->status == run::RunStatus::kFinished; }
  // Absent for a trial that did not finish.
  double accuracy() const { return finished() ? end->final_accuracy : run::kAbsent; }
  double loss() const { return finished() ? end->final_loss : run::kAbsent; }
};

// A finished trial beats an unfinished one. Then the higher final accuracy wins; if the accuracies
// are equal or one is absent, the lower final loss wins.
bool is_better(const Trial& one, const Trial& other);

// Returns the first of the best finished trials, or none if no trial finished.
std::optional<std::size_t> best_of(const std::vector<Trial>& trials);

}  // namespace sing::lab::tune
