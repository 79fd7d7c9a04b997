// EAdam: Adam with an epsilon that accumulates in the second moment (docs/algorithm.md, eq. 26).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct EAdam {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "eadam";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<EAdam>(),
        std::tuple{// Without epsilon, a zero gradient would divide by zero.
                   field("epsilon", &EAdam::epsilon, "added to the second moment in each step",
                         at_least(1e-30))},
        decay_fields<EAdam>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;  // with both bias corrections
    Real epsilon;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(corrected_rate(at, beta1, beta2)),
            .epsilon = Real(epsilon)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<EAdam, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient) + c.epsilon;
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter - c.step_size * m / square_root(v);
  }
};
static_assert(UpdateRule<EAdam>);

}  // namespace sing
