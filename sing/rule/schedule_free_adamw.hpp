// Schedule-Free AdamW: gradients are evaluated between a fast sequence and its running average
// (docs/algorithm.md, eq. 37 to 39).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

struct ScheduleFreeAdamW {
  double learning_rate = 2.5e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t own_warmup_steps = 0;
  double step_power = 0;
  double rate_power = 2;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "schedule_free_adamw";
  static constexpr Slot kSlots[] = {{"fast", SlotShape::kElement, true},
                                    {"second_moment", SlotShape::kElement},
                                    {"largest_rate", SlotShape::kScalar},
                                    {"weight_sum", SlotShape::kScalar}};

  static constexpr auto fields() {
    using Self = ScheduleFreeAdamW;
    return std::tuple{
        field("learning_rate", &Self::learning_rate, "step size", at_least(0)),
        field("beta1", &Self::beta1,
              "weight of the average in the point where gradients are evaluated", between(1e-3, 1)),
        field("beta2", &Self::beta2, "decay of the second moment", from_zero_below(1)),
        field("epsilon", &Self::epsilon, "added to the root of the second moment", at_least(0)),
        field("weight_decay", &Self::weight_decay, "strength of the weight decay", at_least(0)),
        field("own_warmup_steps", &Self::own_warmup_steps, "steps of the rule's own linear warm-up",
              at_least(0)),
        field("step_power", &Self::step_power,
              "exponent of the step's number in its weight in the average", at_least(0)),
        field("rate_power", &Self::rate_power,
              "exponent of the largest learning rate so far in a step's weight in the average",
              at_least(0)),
        field("decoupled_decay", &Self::decoupled_decay,
              "decay shrinks the parameter; off adds it to the standardized gradient (L2)")};
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    Real beta1;
    RunningMean<Real> second;
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
    Real decay, gradient_decay;  // added to the direction and to the gradient
    Real rate;                   // with the warm-up
    Real step_weight;            // t^step_power
    Real rate_power;
    Real starts;    // 1 at the first update, which fills the fast sequence; else 0
    Real share;     // weight of the fast sequence in the average; from advance()
    Real own_rate;  // step size of the parameter; from advance()
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double step = static_cast<double>(at.step);
    const double warmup = static_cast<double>(own_warmup_steps);
    const double rate = at.learning_rate * (step < warmup ? step / warmup : 1.0);
    return {.beta1 = Real(beta1),
            .second = RunningMean<Real>::of(beta2),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(epsilon),
            .decay = Real(decoupled_decay ? at.weight_decay : 0.0),
            .gradient_decay = Real(decoupled_decay ? 0.0 : at.weight_decay),
            .rate = Real(rate),
            .step_weight = Real(::pow(step, step_power)),
            .rate_power = Real(rate_power),
            .starts = Real(at.step == 1 ? 1 : 0),
            .share = Real(0),
            .own_rate = Real(0)};
  }

  template <class Real>
  SING_HOST_DEVICE static void advance(Constants<Real>& c,
                                       ScalarState<ScheduleFreeAdamW>& scalars) {
    const double rate = static_cast<double>(c.rate);
    const double largest = larger(rate, scalars.slot[0]);
    const double weight =
        static_cast<double>(c.step_weight) * ::pow(largest, static_cast<double>(c.rate_power));
    const double sum = scalars.slot[1] + weight;
    scalars.slot[0] = largest;
    scalars.slot[1] = sum;
    const double share = sum > 0 ? weight / sum : 0.0;
    c.share = Real(share);
    c.own_rate = Real(rate * (1 - static_cast<double>(c.beta1) * (1 - share)));
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<ScheduleFreeAdamW, Real>& state) {
    const Real gradient = e.gradient + c.gradient_decay * e.parameter;
    const Real v = c.second.next_square(state.slot[1], gradient);
    const Real direction =
        gradient / (square_root(v) * c.root_factor + c.epsilon) + c.decay * e.parameter;
    const Real fast = state.slot[0] + c.starts * e.parameter;
    state.slot[0] = fast - c.rate * direction;
    state.slot[1] = v;
    return e.parameter + c.share * (fast - e.parameter) - c.own_rate * direction;
  }

  // The average used for evaluation lies on the line through the fast sequence and the parameter,
  // beyond the parameter.
  static constexpr std::size_t kEvaluationSlot = 0;
  double evaluation_share() const { return 1 - 1 / beta1; }
};
static_assert(UpdateRule<ScheduleFreeAdamW>);

}  // namespace sing
