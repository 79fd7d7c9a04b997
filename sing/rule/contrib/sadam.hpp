// SAdam: Adam that divides by the softplus of the root of the largest second moment
// (docs/algorithm.md, eq. 27, 28).
#pragma once

#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct SAdam {
  double learning_rate = 1e-1;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::optional<double> softplus_beta = 50;
  bool amsgrad = true;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "sadam";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement},
                                    {"largest_second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<SAdam>(),
        std::tuple{field("epsilon", &SAdam::epsilon,
                         "added to the root of the second moment if softplus is off", at_least(0)),
                   field("softplus_beta", &SAdam::softplus_beta,
                         "sharpness of the softplus of the root; none uses root + epsilon",
                         at_least(1e-3)),
                   field("amsgrad", &SAdam::amsgrad, "divide by the largest second moment so far")},
        decay_fields<SAdam>());
  }

  bool uses_slot(std::size_t slot, bool /*factored*/) const { return slot < 2 || amsgrad; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;  // with both bias corrections and softplus_beta
    Real epsilon;
    Softplus<Real> softplus;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double sharpness = softplus_beta.has_value() ? *softplus_beta : 0.0;
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(corrected_rate(at, beta1, beta2) * (sharpness > 0 ? sharpness : 1.0)),
            .epsilon = Real(epsilon),
            .softplus = Softplus<Real>::of(sharpness, 1)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<SAdam, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    const Real most = larger(state.slot[2], v);  // an unused slot holds 0
    state.slot[0] = m;
    state.slot[1] = v;
    state.slot[2] = most;
    const Quotient<Real> denominator = c.softplus.beta > 0
                                           ? softplus(most, c.softplus)
                                           : Quotient<Real>{square_root(most) + c.epsilon, Real(1)};
    return c.decay.keep * e.parameter - c.step_size * m * denominator.below / denominator.above;
  }
};
static_assert(UpdateRule<SAdam>);

}  // namespace sing
