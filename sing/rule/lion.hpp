// Lion: steps of equal size in the direction of the momentum's sign (docs/algorithm.md, eq. 29).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct Lion {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "lion";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{
            field("learning_rate", &Lion::learning_rate, "step size", at_least(0)),
            field("beta1", &Lion::beta1, "share of the momentum in a step", from_zero_below(1)),
            field("beta2", &Lion::beta2, "decay of the momentum", from_zero_below(1))},
        decay_fields<Lion>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real learning_rate;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .learning_rate = Real(at.learning_rate)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Lion, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real direction = c.first.next(state.slot[0], gradient);
    state.slot[0] = c.second.next(state.slot[0], gradient);
    return c.decay.keep * e.parameter - c.learning_rate * sign(direction);
  }
};
static_assert(UpdateRule<Lion>);

}  // namespace sing
