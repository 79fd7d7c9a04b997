// Measures gradients by the library's own criteria, without taking a step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sing/optim/optimizer.hpp"

namespace sing {

struct MeasuredGradients {
  bool all_finite;
  std::vector<double> norms;  // one per gradient; unspecified where there is none
};

// A step under skip_step measures every gradient before the first write and changes nothing if one
// of them is not finite. The optimizer of this measure has one parameter more than it is asked
// about, whose gradient is NaN: it measures and never writes, and the first gradient that it finds
// non-finite is that NaN if all others are finite.
class GradientMeasure {
 public:
  GradientMeasure(std::span<const Parameter> parameters, std::shared_ptr<Backend> backend);

  // Measures the present gradients of the parameters that the measure was made for. Waits for the
  // device.
  MeasuredGradients run(std::span<const Parameter> parameters);

 private:
  std::shared_ptr<void> nan_;  // backend memory: one float, the last parameter and its gradient
  Optimizer optimizer_;
};

}  // namespace sing
