// Running means of a gradient and of its square, and the correction for their start at zero
// (docs/algorithm.md, eq. 4, 5).
#pragma once

#include <cmath>

#include "sing/rule/update_rule.hpp"

namespace sing {

// The first fields of a rule that keeps both moments.
template <class Rule>
constexpr auto moment_fields() {
  return std::tuple{field("learning_rate", &Rule::learning_rate, "step size", at_least(0)),
                    field("beta1", &Rule::beta1, "decay of the first moment", from_zero_below(1)),
                    field("beta2", &Rule::beta2, "decay of the second moment", from_zero_below(1))};
}

// Adam's epsilon.
template <class Rule>
constexpr auto epsilon_field() {
  return std::tuple{
      field("epsilon", &Rule::epsilon, "added to the root of the second moment", at_least(0))};
}

// An exponential running mean: decay · old + (1 − decay) · value.
template <class Real>
struct RunningMean {
  Real decay, rest;  // rest = 1 − decay

  SING_HOST_DEVICE static RunningMean of(double decay) { return {Real(decay), Real(1 - decay)}; }

  SING_HOST_DEVICE Real next(Real old, Real value) const { return decay * old + rest * value; }
  // The mean of squares. It is not next(old, value · value), which rounds differently.
  SING_HOST_DEVICE Real next_square(Real old, Real value) const {
    return decay * old + rest * value * value;
  }
};

// 1 − beta^t. Dividing a running mean by it corrects for the start at zero.
SING_HOST_DEVICE double bias_divisor(double beta, std::int64_t step) {
  return 1 - ::pow(beta, static_cast<double>(step));
}

// The learning rate with the corrections of both moments, for rules that add epsilon to the
// uncorrected root.
SING_HOST_DEVICE double corrected_rate(const StepScalars& at, double beta1, double beta2) {
  return at.learning_rate * ::sqrt(bias_divisor(beta2, at.step)) / bias_divisor(beta1, at.step);
}

}  // namespace sing
