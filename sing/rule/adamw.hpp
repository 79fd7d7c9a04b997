// AdamW, with the softplus denominator of SING as an option (docs/algorithm.md, eq. 4 to 7).
#pragma once

#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct AdamW {
  double learning_rate = 5e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_decay = true;
  std::optional<double> softplus_beta = std::nullopt;

  static constexpr std::string_view kName = "adamw";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<AdamW>(), epsilon_field<AdamW>(), decay_fields<AdamW>(),
        std::tuple{
            field("softplus_beta", &AdamW::softplus_beta,
                  "sharpness of the softplus that replaces root + epsilon; none turns it off",
                  at_least(1e-3))});
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;    // learning rate / (1 − beta1^t), times softplus_beta
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
    Softplus<Real> softplus;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double sharpness = softplus_beta.has_value() ? *softplus_beta : 0.0;
    const double corrected = at.learning_rate / bias_divisor(beta1, at.step);
    const double root_factor = 1 / ::sqrt(bias_divisor(beta2, at.step));
    Softplus<Real> softplus = Softplus<Real>::of(sharpness, root_factor);
    if (!decoupled_decay) {
      softplus.near_zero_limit = -1;  // softplus_bound() does not include the decay's share
    }
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(sharpness > 0 ? corrected * sharpness : corrected),
            .root_factor = Real(root_factor),
            .epsilon = Real(epsilon),
            .softplus = softplus};
  }

  template <class Real>
  SING_HOST_DEVICE static Real softplus_bound(const Constants<Real>& c, Real gradient,
                                              const ElementState<AdamW, Real>& state) {
    return state.slot[1] + c.second.rest * gradient * gradient;
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdamW, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    const Quotient<Real> denominator =
        c.softplus.beta > 0 ? softplus(v, c.softplus)
                            : Quotient<Real>{square_root(v) * c.root_factor + c.epsilon, Real(1)};
    return c.decay.keep * e.parameter - c.step_size * m * denominator.below / denominator.above;
  }
};
static_assert(UpdateRule<AdamW>);

}  // namespace sing
