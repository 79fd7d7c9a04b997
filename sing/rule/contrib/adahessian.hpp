// AdaHessian: Adam with a second moment of the Hessian's diagonal instead of the gradient
// (docs/algorithm.md, eq. 43, 44).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct AdaHessian {
  double learning_rate = 0.15;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-4;
  bool half_power = false;
  double weight_decay = 0;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "adahessian";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"curvature_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{
            field("learning_rate", &AdaHessian::learning_rate, "step size", at_least(0)),
            field("beta1", &AdaHessian::beta1, "decay of the first moment", from_zero_below(1)),
            field("beta2", &AdaHessian::beta2, "decay of the squared curvature",
                  from_zero_below(1)),
            field("epsilon", &AdaHessian::epsilon, "added to the root of the curvature",
                  at_least(0)),
            field("half_power", &AdaHessian::half_power,
                  "divide by the curvature to the power 1/2 instead of 1")},
        decay_fields<AdaHessian>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;    // learning rate / (1 − beta1^t)
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
    Real of_root, of_fourth_root;  // 1 and 0, or 0 and 1; without a branch, so that loops vectorize
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(at.learning_rate / bias_divisor(beta1, at.step)),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(epsilon),
            .of_root = Real(half_power ? 0 : 1),
            .of_fourth_root = Real(half_power ? 1 : 0)};
  }

  // The second input is an estimate of the Hessian's diagonal.
  static constexpr bool kTakesCurvature = true;

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaHessian, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], e.second_input);
    state.slot[0] = m;
    state.slot[1] = v;
    const Real root = square_root(v) * c.root_factor;
    const Real denominator = c.of_root * root + c.of_fourth_root * square_root(root) + c.epsilon;
    return c.decay.keep * e.parameter - c.step_size * m / denominator;
  }
};
static_assert(UpdateRule<AdaHessian>);

}  // namespace sing
