// Times pieces of work against each other, in turns, on a CPU or a GPU.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>
#include <vector>

#include "lab/bench/quartiles.hpp"

namespace sing::lab::bench {

struct Contestant {
  std::string title;
  std::function<void()> step;
};

struct StepTiming {
  std::string title;
  Quartiles milliseconds;  // of one step
  Quartiles ratio;         // to the first contestant's in the same round
};

// Each round takes `steps` steps of each contestant, one after the other, and is timed as a whole:
// whoever merges slow weights every few steps pays for it. One round before them is not counted.
std::vector<StepTiming> time_in_turns(const std::vector<Contestant>& contestants,
                                      const c10::Device& device, int steps, int rounds);

}  // namespace sing::lab::bench
