// Which setting is tried next: the paper's walk along a ladder of values, and successive halving.
#pragma once

#include <functional>

#include "lab/tune/ladder.hpp"
#include "lab/tune/trial.hpp"

namespace sing::lab::tune {

// Tries the value at a place; none if the person at the terminal stopped it.
using Try = std::function<std::optional<Trial>(int place)>;

struct Walk {
  Places tried;
  std::optional<int> best;  // none: no trial finished
  bool at_end = false;      // the best has only one neighbour, since the bound was reached
  bool stopped = false;
};

// Tries all of `start`; while the best value is the first or the last one tried, the next one
// beyond it too. Where every trial diverged, smaller values are tried. At most `most_beyond` places
// on either side.
Walk walk(Places start, int most_beyond, const Try& attempt);

// Successive halving: the epochs of each round, so that one setting of `settings` is left after the
// last, which has `last` epochs; the round before has half as many. Throws std::invalid_argument if
// the first round had none.
std::vector<std::int64_t> round_epochs(std::size_t settings, std::int64_t last);

// The settings of the better half of a round, best first: one at least, diverged ones never.
std::vector<Setting> better_half(std::vector<Trial> round);

}  // namespace sing::lab::tune
