// Stochastic gradient descent with momentum and Nesterov's variant (docs/algorithm.md, eq. 9).
#pragma once

#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct Sgd {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "sgd";
  static constexpr Slot kSlots[] = {{"momentum", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{field("learning_rate", &Sgd::learning_rate, "step size", at_least(0)),
                   field("momentum", &Sgd::momentum, "decay of the momentum; 0 keeps none",
                         from_zero_below(1)),
                   field("nesterov", &Sgd::nesterov, "use Nesterov's momentum")},
        decay_fields<Sgd>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return momentum > 0; }

  template <class Real>
  struct Constants {
    Real momentum;
    Decay<Real> decay;
    Real learning_rate;
    Real of_gradient, of_momentum;  // weight of each in the step
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.momentum = Real(momentum),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .learning_rate = Real(at.learning_rate),
            .of_gradient = Real(nesterov ? 1 : 0),
            .of_momentum = Real(nesterov ? momentum : 1)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Sgd, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.momentum * state.slot[0] + gradient;
    state.slot[0] = m;
    const Real step = c.of_gradient * gradient + c.of_momentum * m;
    return c.decay.keep * e.parameter - c.learning_rate * step;
  }
};
static_assert(UpdateRule<Sgd>);

}  // namespace sing
