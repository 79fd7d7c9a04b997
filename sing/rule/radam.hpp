// RAdam: Adam whose early steps are rectified, in PyTorch's form or its authors'
// (docs/algorithm.md, eq. 23).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/rectification.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct RAdam {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool early_momentum = true;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "radam";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<RAdam>(),
        std::tuple{
            field("epsilon", &RAdam::epsilon, "added to the root of the uncorrected second moment",
                  at_least(0)),
            field("early_momentum", &RAdam::early_momentum,
                  "momentum alone while it is too early to rectify; off: no step, as its authors")},
        decay_fields<RAdam>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    Moments<Real> moments;
    Decay<Real> decay;
    Real step_size;  // with bias corrections and rectification; 0: no step
    Real epsilon;
    // 1 and 0; 0 and 1 while it is too early to rectify. Numbers, not a branch: loops vectorise.
    Real adaptive, momentum_only;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const BiasCorrection correction = BiasCorrection::of(beta1, beta2, at.step);
    const Rectification rectified = Rectification::of(beta2, at.step);
    const double momentum_step = at.learning_rate / correction.first;
    Constants<Real> c{.moments = Moments<Real>::of(beta1, beta2),
                      .decay = Decay<Real>::of(at, decoupled_decay),
                      .step_size = Real(rectified.adaptive ? momentum_step * rectified.factor *
                                                                 correction.second_root
                                                           : momentum_step),
                      .epsilon = Real(epsilon),
                      .adaptive = Real(rectified.adaptive ? 1 : 0),
                      .momentum_only = Real(rectified.adaptive ? 0 : 1)};
    if (!rectified.adaptive && !early_momentum) {
      c.step_size = 0;
      c.decay.keep = 1;
    }
    return c;
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<RAdam, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.moments.first(state.slot[0], gradient);
    const Real v = c.moments.second(state.slot[1], gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter -
           c.step_size * m / (c.adaptive * (square_root(v) + c.epsilon) + c.momentum_only);
  }
};
static_assert(UpdateRule<RAdam>);

}  // namespace sing
