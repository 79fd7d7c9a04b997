// Asks whether gradients are finite by the library's own criterion, without taking a step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sing/optim/optimizer.hpp"

namespace sing {

// A step under skip_step measures every gradient before the first write and changes nothing if one
// of them is not finite. The optimizer of this check has one parameter more than it is asked about,
// whose gradient is NaN: it measures and never writes, and the first gradient that it finds
// non-finite is that NaN if all others are finite.
class FiniteCheck {
 public:
  FiniteCheck(std::span<const Parameter> parameters, std::shared_ptr<Backend> backend);

  // Whether the present gradients of the parameters that the check was made for are all finite.
  // Waits for the device.
  bool holds(std::span<const Parameter> parameters);

 private:
  std::shared_ptr<void> nan_;  // backend memory: one float, the last parameter and its gradient
  Optimizer optimizer_;
};

}  // namespace sing
