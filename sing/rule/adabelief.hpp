// AdaBelief 0.2.0, rectified as RAdam, with softplus as an option (docs/algorithm.md, eq. 10, 11).
#pragma once

#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/rectification.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct AdaBelief {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-16;
  double weight_decay = 0;
  bool decoupled_decay = true;
  bool rectify = true;
  std::optional<double> softplus_beta = std::nullopt;

  static constexpr std::string_view kName = "adabelief";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"belief", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{
            field("learning_rate", &AdaBelief::learning_rate, "step size", at_least(0)),
            field("beta1", &AdaBelief::beta1, "decay of the first moment", from_zero_below(1)),
            field("beta2", &AdaBelief::beta2, "decay of the belief", from_zero_below(1)),
            field("epsilon", &AdaBelief::epsilon, "added to the belief and to its root",
                  at_least(0))},
        decay_fields<AdaBelief>(),
        std::tuple{
            field("rectify", &AdaBelief::rectify,
                  "rectify the variance of the adaptive step in early steps"),
            field("softplus_beta", &AdaBelief::softplus_beta,
                  "sharpness of the softplus that replaces root + epsilon; none turns it off",
                  at_least(1e-3))});
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;              // with bias correction, rectification and softplus_beta
    Real root_factor;            // 1 / √(1 − beta2^t)
    Real epsilon, root_epsilon;  // root_epsilon: epsilon / √(1 − beta2^t) when rectified
    Softplus<Real> softplus;
    // 1 and 0, or 0 and 1 in the early steps that are not rectified. These are factors instead of a
    // branch, so that loops vectorize.
    Real adaptive, momentum_only;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double corrected = at.learning_rate / bias_divisor(beta1, at.step);
    const Rectification rectified =
        rectify ? Rectification::of(beta2, at.step) : Rectification{true, 1};
    const bool adaptive = rectified.adaptive;
    const double sharpness = adaptive && softplus_beta.has_value() ? *softplus_beta : 0.0;
    const double root_factor = 1 / ::sqrt(bias_divisor(beta2, at.step));
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(corrected * rectified.factor * (sharpness > 0 ? sharpness : 1.0)),
            .root_factor = Real(root_factor),
            .epsilon = Real(epsilon),
            .root_epsilon = Real(rectify ? epsilon * root_factor : epsilon),
            .softplus = Softplus<Real>::of(sharpness, root_factor),
            .adaptive = Real(adaptive ? 1 : 0),
            .momentum_only = Real(adaptive ? 0 : 1)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaBelief, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real surprise = gradient - m;
    const Real s = c.second.next_square(state.slot[1], surprise) + c.epsilon;
    state.slot[0] = m;
    state.slot[1] = s;
    const Quotient<Real> denominator =
        c.softplus.beta > 0
            ? softplus(s, c.softplus)
            : Quotient<Real>{square_root(s) * c.root_factor + c.root_epsilon, Real(1)};
    return c.decay.keep * e.parameter -
           c.step_size * m * denominator.below / (c.adaptive * denominator.above + c.momentum_only);
  }
};
static_assert(UpdateRule<AdaBelief>);

}  // namespace sing
