// Times contestants against each other, in turns, on a CPU or a GPU.
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
  Quartiles milliseconds;  // per step
  Quartiles ratio;         // relative to the first contestant in the same round
};

// Each round takes `steps` steps of each contestant, one after the other, and is timed as a whole,
// so that work done only every few steps, such as merging slow weights, is included. The first
// rounds are not counted: one on a CPU, four on a GPU.
std::vector<StepTiming> time_in_turns(const std::vector<Contestant>& contestants,
                                      const c10::Device& device, int steps, int rounds);

}  // namespace sing::lab::bench
