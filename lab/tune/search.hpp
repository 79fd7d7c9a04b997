// Chooses the next setting to try: the paper's walk along a ladder of values, and successive
// halving.
#pragma once

#include <functional>

#include "lab/tune/ladder.hpp"
#include "lab/tune/trial.hpp"

namespace sing::lab::tune {

// Tries the value at a place. Returns none if the user stopped it.
using Try = std::function<std::optional<Trial>(int place)>;

struct Walk {
  Places tried;
  std::optional<int> best;  // none: no trial finished
  bool at_end = false;      // the best has one neighbor, because the bound was reached
  bool stopped = false;
};

// Tries every place of `start`. While the best value is the first or the last one tried, tries the
// next place beyond it too. If every trial diverged, smaller values are tried. At most
// `most_beyond` places are tried beyond either end.
Walk walk(Places start, int most_beyond, const Try& attempt);

// Returns the epochs of each round of successive halving, so that one of `settings` settings is
// left after the last round. The last round has `last` epochs, and each earlier round has half as
// many as the next. Throws std::invalid_argument if the first round had none.
std::vector<std::int64_t> round_epochs(std::size_t settings, std::int64_t last);

// Returns the settings of the better half of a round, best first: at least one, but never a
// diverged one.
std::vector<Setting> better_half(std::vector<Trial> round);

}  // namespace sing::lab::tune
