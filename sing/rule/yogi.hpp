// Yogi: Adam whose second moment moves by at most (1 − β₂)ĝ² a step (docs/algorithm.md, eq. 21,
// 22).
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
                                           "what both moments start from", at_least(0))},
                          decay_fields<Yogi>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    Moments<Real> moments;
    Decay<Real> decay;
    Real start;        // added to both moments: initial_moment in the first step, then 0
    Real step_size;    // learning rate / (1 − beta1^t)
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const BiasCorrection correction = BiasCorrection::of(beta1, beta2, at.step);
    return {.moments = Moments<Real>::of(beta1, beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .start = Real(at.step == 1 ? initial_moment : 0.0),
            .step_size = Real(at.learning_rate / correction.first),
            .root_factor = Real(1 / correction.second_root),
            .epsilon = Real(epsilon)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Yogi, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real square = gradient * gradient;
    const Real old = state.slot[1] + c.start;
    const Real m = c.moments.first(state.slot[0] + c.start, gradient);
    const Real v = old - c.moments.rest2 * sign(old - square) * square;
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter -
           c.step_size * m / (square_root(v) * c.root_factor + c.epsilon);
  }
};
static_assert(UpdateRule<Yogi>);

}  // namespace sing
