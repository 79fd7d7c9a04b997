// AdaMod: Adam with step sizes bounded by their running mean (docs/algorithm.md, eq. 25).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct AdaMod {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double beta3 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "adamod";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement},
                                    {"mean_step_size", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(moment_fields<AdaMod>(),
                          std::tuple{field("beta3", &AdaMod::beta3, "decay of the mean step size",
                                           from_zero_below(1))},
                          epsilon_field<AdaMod>(), decay_fields<AdaMod>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    RunningMean<Real> mean_size;
    Real step_size;  // with both bias corrections
    Real epsilon;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .mean_size = RunningMean<Real>::of(beta3),
            .step_size = Real(corrected_rate(at, beta1, beta2)),
            .epsilon = Real(epsilon)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaMod, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    const Real size = c.step_size / (square_root(v) + c.epsilon);
    const Real mean = c.mean_size.next(state.slot[2], size);
    state.slot[0] = m;
    state.slot[1] = v;
    state.slot[2] = mean;
    return c.decay.keep * e.parameter - smaller(size, mean) * m;
  }
};
static_assert(UpdateRule<AdaMod>);

}  // namespace sing
