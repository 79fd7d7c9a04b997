// One training of a tuning: what was tried and what came of it.
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
  std::int64_t epochs = 0;  // 0: as the flags of the training say

  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Trial {
  Setting setting;
  std::string run;                    // name of its directory
  std::optional<run::EndRecord> end;  // none: the program ended without a result

  bool finished() const { return end && end->status == run::RunStatus::kFinished; }
  // Of a finished trial; else absent.
  double accuracy() const { return finished() ? end->final_accuracy : run::kAbsent; }
  double loss() const { return finished() ? end->final_loss : run::kAbsent; }
};

// A finished trial beats one that is not; then the higher final accuracy counts; where they are
// equal, or one has none, the lower final loss.
bool is_better(const Trial& one, const Trial& other);

// The first of the best finished trials; none if no trial finished.
std::optional<std::size_t> best_of(const std::vector<Trial>& trials);

}  // namespace sing::lab::tune
