// Standardization without an optimizer: the parameter becomes its standardized gradient
// (docs/algorithm.md, eq. 17).
#pragma once

#include "sing/rule/update_rule.hpp"

namespace sing {

// The rule of standardize() (sing/optim/standardizer.hpp). The parameter may be the gradient
// itself.
struct Gradient {
  // Every rule has these two, so that code can set them without knowing the rule.
  double learning_rate = 1;
  double weight_decay = 0;

  static constexpr std::string_view kName = "gradient";
  static constexpr std::array<Slot, 0> kSlots{};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &Gradient::learning_rate, "has no effect", at_least(0)),
        field("weight_decay", &Gradient::weight_decay, "has no effect", at_least(0))};
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return false; }

  template <class Real>
  struct Constants {};

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& /*at*/) const {
    return {};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& /*c*/, const Element<Real>& e,
                                      ElementState<Gradient, Real>& /*state*/) {
    return e.gradient;
  }
};
static_assert(UpdateRule<Gradient>);

}  // namespace sing
