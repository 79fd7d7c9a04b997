// Yogi: Adam with a second moment that changes by at most (1 − β₂)ĝ² per step (docs/algorithm.md,
// eq. 21, 22).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct Yogi {
  double learning_rate = 1e-2;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-3;
  double initial_moment = 1e-6;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "yogi";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(moment_fields<Yogi>(), epsilon_field<Yogi>(),
                          std::tuple{field("initial_moment", &Yogi::initial_moment,
                                           "initial value of both moments", at_least(0))},
                          decay_fields<Yogi>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real start;        // added to both moments: initial_moment in the first step, then 0
    Real step_size;    // learning rate / (1 − beta1^t)
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .start = Real(at.step == 1 ? initial_moment : 0.0),
            .step_size = Real(at.learning_rate / bias_divisor(beta1, at.step)),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(epsilon)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Yogi, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real square = gradient * gradient;
    const Real old = state.slot[1] + c.start;
    const Real m = c.first.next(state.slot[0] + c.start, gradient);
    const Real v = old - c.second.rest * sign(old - square) * square;
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter -
           c.step_size * m / (square_root(v) * c.root_factor + c.epsilon);
  }
};
static_assert(UpdateRule<Yogi>);

}  // namespace sing
