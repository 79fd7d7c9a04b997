// Chooses which values to try with a fixed number of runs.
#pragma once

#include <functional>
#include <map>

#include "lab/tune/trial.hpp"

namespace sing::lab::tune {

// The trials so far by their place on a ladder of values.
using TriedPlaces = std::map<int, Trial>;

// Returns the places to try next, the more promising first: at first 0 and two places to either
// side, then two places beyond the best while that is an end, then the untried places nearest to
// the best. If no trial finished, returns two places below the lowest.
std::vector<int> next_places(const TriedPlaces& tried);

struct BudgetResult {
  TriedPlaces tried;
  std::optional<int> best;  // none: no trial finished
  bool settled = false;     // both neighbors of the best were tried
  bool stopped = false;
};

// Tries the values at some places. Returns none if the user stopped it.
using TryPlaces = std::function<std::optional<std::vector<Trial>>(const std::vector<int>& places)>;

// Tries exactly `runs` places besides those of `tried`, unless it is stopped. The choice depends on
// the results alone, not on how many runs train at once.
BudgetResult spend(int runs, TriedPlaces tried, const TryPlaces& attempt);

}  // namespace sing::lab::tune
