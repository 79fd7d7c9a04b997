// Weight decay in its two forms, decoupled and L2 (docs/algorithm.md, eq. 18).
#pragma once

#include "sing/rule/update_rule.hpp"

namespace sing {

// The last fields of a rule that has both forms.
template <class Rule>
constexpr auto decay_fields() {
  return std::tuple{
      field("weight_decay", &Rule::weight_decay, "strength of the weight decay", at_least(0)),
      field("decoupled_decay", &Rule::decoupled_decay,
            "decay shrinks the parameter; off adds it to the standardized gradient (L2)")};
}

template <class Real>
struct Decay {
  Real keep;   // factor of the parameter
  Real share;  // weight of the parameter in the gradient

  SING_HOST_DEVICE static Decay of(const StepScalars& at, bool decoupled) {
    return {Real(decoupled ? 1 - at.learning_rate * at.weight_decay : 1.0),
            Real(decoupled ? 0.0 : at.weight_decay)};
  }

  SING_HOST_DEVICE Real gradient(const Element<Real>& e) const {
    return e.gradient + share * e.parameter;
  }
};

}  // namespace sing
