// Running means of a gradient and its square, and what makes up for their start at zero
// (docs/algorithm.md, eq. 4, 5).
#pragma once

#include <cmath>

#include "sing/rule/update_rule.hpp"

namespace sing {

// The first fields of a rule that has both.
template <class Rule>
constexpr auto moment_fields() {
  return std::tuple{field("learning_rate", &Rule::learning_rate, "step size", at_least(0)),
                    field("beta1", &Rule::beta1, "decay of the first moment", from_zero_below(1)),
                    field("beta2", &Rule::beta2, "decay of the second moment", from_zero_below(1))};
}

// The epsilon of Adam.
template <class Rule>
constexpr auto epsilon_field() {
  return std::tuple{
      field("epsilon", &Rule::epsilon, "added to the root of the second moment", at_least(0))};
}

template <class Real>
struct Moments {
  Real beta1, rest1, beta2, rest2;  // rest = 1 − beta

  SING_HOST_DEVICE static Moments of(double beta1, double beta2) {
    return {Real(beta1), Real(1 - beta1), Real(beta2), Real(1 - beta2)};
  }

  SING_HOST_DEVICE Real first(Real old, Real gradient) const {
    return beta1 * old + rest1 * gradient;
  }
  SING_HOST_DEVICE Real second(Real old, Real gradient) const {
    return beta2 * old + rest2 * gradient * gradient;
  }
};

struct BiasCorrection {
  double first;        // 1 − beta1^t
  double second_root;  // √(1 − beta2^t)

  SING_HOST_DEVICE static BiasCorrection of(double beta1, double beta2, std::int64_t step) {
    const double power = static_cast<double>(step);
    return {1 - ::pow(beta1, power), ::sqrt(1 - ::pow(beta2, power))};
  }
};

}  // namespace sing
