// RAdam: Adam with rectified early steps, in PyTorch's form or its authors' (docs/algorithm.md,
// eq. 23).
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
        std::tuple{field("epsilon", &RAdam::epsilon,
                         "added to the root of the uncorrected second moment", at_least(0)),
                   field("early_momentum", &RAdam::early_momentum,
                         "take a momentum step in the early steps that cannot be rectified; off "
                         "takes none, as the paper's authors do")},
        decay_fields<RAdam>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;  // with bias corrections and rectification; 0 takes no step
    Real epsilon;
    // 1 and 0, or 0 and 1 in the early steps that are not rectified. These are factors instead of a
    // branch, so that loops vectorize.
    Real adaptive, momentum_only;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const Rectification rectified = Rectification::of(beta2, at.step);
    const double momentum_step = at.learning_rate / bias_divisor(beta1, at.step);
    Constants<Real> c{
        .first = RunningMean<Real>::of(beta1),
        .second = RunningMean<Real>::of(beta2),
        .decay = Decay<Real>::of(at, decoupled_decay),
        .step_size = Real(rectified.adaptive ? momentum_step * rectified.factor *
                                                   ::sqrt(bias_divisor(beta2, at.step))
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
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter -
           c.step_size * m / (c.adaptive * (square_root(v) + c.epsilon) + c.momentum_only);
  }
};
static_assert(UpdateRule<RAdam>);

}  // namespace sing
