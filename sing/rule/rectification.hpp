// The rectification of an early step for the variance of its second moment
// (docs/algorithm.md, eq. 11).
#pragma once

#include <cmath>

#include "sing/rule/update_rule.hpp"

namespace sing {

struct Rectification {
  bool adaptive;  // false in early steps, which cannot divide by the root of the second moment
  double factor;  // multiplies the step size; 1 where not adaptive

  SING_HOST_DEVICE static Rectification of(double beta2, std::int64_t step) {
    const double power = ::pow(beta2, static_cast<double>(step));
    const double end = 2 / (1 - beta2) - 1;
    const double now = end - 2 * static_cast<double>(step) * power / (1 - power);
    if (now < 5) {
      return {false, 1};
    }
    return {true, ::sqrt((now - 4) * (now - 2) * end / ((end - 4) * (end - 2) * now))};
  }
};

}  // namespace sing
