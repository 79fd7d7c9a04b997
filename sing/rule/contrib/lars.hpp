// LARS: momentum of gradients that each tensor's trust ratio scales (docs/algorithm.md, eq. 33,
// 34).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct Lars {
  double learning_rate = 1;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double trust_coefficient = 1e-3;
  double epsilon = 1e-8;
  bool always_adapt = false;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "lars";
  static constexpr Slot kSlots[] = {{"momentum", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &Lars::learning_rate, "step size", at_least(0)),
        field("momentum", &Lars::momentum, "decay of the momentum; 0 keeps none",
              from_zero_below(1)),
        field("nesterov", &Lars::nesterov, "use Nesterov's momentum"),
        field("weight_decay", &Lars::weight_decay,
              "strength of the weight decay, which is part of the trust ratio", at_least(0)),
        field("trust_coefficient", &Lars::trust_coefficient,
              "size of a step relative to the parameter's norm", at_least(0)),
        field("epsilon", &Lars::epsilon, "added to the trust ratio's denominator", at_least(0)),
        field("always_adapt", &Lars::always_adapt,
              "use a trust ratio for tensors without weight decay too"),
        field("decoupled_decay", &Lars::decoupled_decay,
              "decay the parameter directly, outside the trust ratio")};
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return momentum > 0; }

  template <class Real>
  struct Constants {
    Real momentum;
    Decay<Real> decay;  // its share is inside the ratio
    Real learning_rate;
    Real of_gradient, of_momentum;  // weight of each in the step
    Real trust_coefficient, epsilon;
    Real trust;  // from finish()
    bool adapts;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.momentum = Real(momentum),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .learning_rate = Real(at.learning_rate),
            .of_gradient = Real(nesterov ? 1 : 0),
            .of_momentum = Real(nesterov ? momentum : 1),
            .trust_coefficient = Real(trust_coefficient),
            .epsilon = Real(epsilon),
            .trust = Real(1),
            .adapts = always_adapt || at.weight_decay != 0};
  }

  // Sums of the squared parameter and of the squared gradient.
  static constexpr std::size_t kSums = 2;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& /*c*/, const Element<Real>& e,
                                    const ElementState<Lars, Real>& /*state*/, Real (&out)[kSums]) {
    out[0] = e.parameter * e.parameter;
    out[1] = e.gradient * e.gradient;
  }

  template <class Real>
  SING_HOST_DEVICE static void finish(Constants<Real>& c, const double (&totals)[kSums],
                                      std::int64_t /*size*/) {
    const double weights = ::fabs(static_cast<double>(c.decay.keep)) * ::sqrt(totals[0]);
    const double gradient = ::sqrt(totals[1]);
    if (c.adapts && weights > 0 && gradient > 0) {
      c.trust = Real(static_cast<double>(c.trust_coefficient) * weights /
                     (gradient + static_cast<double>(c.decay.share) * weights +
                      static_cast<double>(c.epsilon)));
    }
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Lars, Real>& state) {
    const Real direction = c.trust * (c.decay.gradient(e));
    const Real m = c.momentum * state.slot[0] + direction;
    state.slot[0] = m;
    return c.decay.keep * e.parameter -
           c.learning_rate * (c.of_gradient * direction + c.of_momentum * m);
  }
};
static_assert(UpdateRule<Lars>);

}  // namespace sing
