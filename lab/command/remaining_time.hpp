// Estimates how long the rest of a training takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sing::lab::command {

// A mean over the steps so far in which each new record makes the earlier ones count a tenth less,
// so that one slow record changes the estimate little and a lasting change is followed.
class RemainingTime {
 public:
  void add(double steps, double seconds);
  double seconds_for(std::int64_t steps) const;

 private:
  double steps_ = 0;
  double seconds_ = 0;
};

// Returns a sentence for a user who may have expected a shorter training on a CPU, or "" if the
// steps that are left take less than half an hour.
std::string long_training_text(double seconds_per_step, std::int64_t steps_left,
                               std::string_view small_recipe);

}  // namespace sing::lab::command
