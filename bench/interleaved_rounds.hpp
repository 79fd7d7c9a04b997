// Times contestants in turns, so that other load on the machine affects all of them alike.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/contestant.hpp"

namespace sing::bench {

// Holds the seconds per step of each contestant that took part, one map per round. A turn lasts
// tens of milliseconds and times whole LookAhead periods.
using Rounds = std::vector<std::map<std::string, double>>;

Rounds run_rounds(std::span<const Contestant> contestants, int count);

}  // namespace sing::bench
