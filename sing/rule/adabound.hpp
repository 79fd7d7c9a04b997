// AdaBound: Adam with step sizes clamped between bounds that converge to SGD's step size
// (docs/algorithm.md, eq. 24).
#pragma once

#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct AdaBound {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double final_learning_rate = 0.1;
  double gamma = 1e-3;
  std::optional<double> base_learning_rate = std::nullopt;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "adabound";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<AdaBound>(), epsilon_field<AdaBound>(),
        std::tuple{
            field("final_learning_rate", &AdaBound::final_learning_rate,
                  "step size that the bounds converge to, before the schedule", at_least(0)),
            field("gamma", &AdaBound::gamma, "rate at which the bounds converge", at_least(1e-12)),
            field("base_learning_rate", &AdaBound::base_learning_rate,
                  "learning rate that final_learning_rate refers to; none takes learning_rate",
                  at_least(1e-30))},
        decay_fields<AdaBound>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;  // with both bias corrections
    Real epsilon;
    Real lowest, highest;  // bounds of an element's step size
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double base = base_learning_rate.has_value() ? *base_learning_rate : learning_rate;
    const double end = base > 0 ? final_learning_rate * at.learning_rate / base : 0.0;
    const double closing = gamma * static_cast<double>(at.step);
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(corrected_rate(at, beta1, beta2)),
            .epsilon = Real(epsilon),
            .lowest = Real(end * (1 - 1 / (closing + 1))),
            .highest = Real(end * (1 + 1 / closing))};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaBound, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    const Real size = c.step_size / (square_root(v) + c.epsilon);
    return c.decay.keep * e.parameter - smaller(larger(size, c.lowest), c.highest) * m;
  }
};
static_assert(UpdateRule<AdaBound>);

}  // namespace sing
