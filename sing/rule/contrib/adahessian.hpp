// AdaHessian: Adam with the Hessian's diagonal in place of the gradient in the second moment
// (docs/algorithm.md, eq. 43, 44).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

struct AdaHessian {
  double learning_rate = 0.15;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-4;
  double weight_decay = 0;
  bool half_power = false;
  bool decoupled_decay = true;

  static constexpr std::string_view kName = "adahessian";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"curvature_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &AdaHessian::learning_rate, "step size", at_least(0)),
        field("beta1", &AdaHessian::beta1, "decay of the first moment", from_zero_below(1)),
        field("beta2", &AdaHessian::beta2, "decay of the squared curvature", from_zero_below(1)),
        field("epsilon", &AdaHessian::epsilon, "added to the root of the curvature", at_least(0)),
        field("weight_decay", &AdaHessian::weight_decay, "weight decay", at_least(0)),
        field("half_power", &AdaHessian::half_power,
              "divide by the curvature to the power 1/2 instead of 1"),
        field("decoupled_decay", &AdaHessian::decoupled_decay,
              "decay the parameter itself, not its gradient")};
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    Real beta1, rest1, beta2, rest2;  // rest = 1 − beta
    Real keep;                        // 1 − learning rate · weight decay where that is decoupled
    Real decay;                       // added to the gradient
    Real step_size;                   // learning rate / (1 − beta1^t)
    Real root_factor;                 // 1 / √(1 − beta2^t)
    Real epsilon;
    Real of_root, of_fourth_root;  // 1 and 0, or 0 and 1. Numbers, not a branch: loops vectorise.
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double step = static_cast<double>(at.step);
    return {.beta1 = Real(beta1),
            .rest1 = Real(1 - beta1),
            .beta2 = Real(beta2),
            .rest2 = Real(1 - beta2),
            .keep = Real(decoupled_decay ? 1 - at.learning_rate * at.weight_decay : 1.0),
            .decay = Real(decoupled_decay ? 0.0 : at.weight_decay),
            .step_size = Real(at.learning_rate / (1 - ::pow(beta1, step))),
            .root_factor = Real(1 / ::sqrt(1 - ::pow(beta2, step))),
            .epsilon = Real(epsilon),
            .of_root = Real(half_power ? 0 : 1),
            .of_fourth_root = Real(half_power ? 1 : 0)};
  }

  // The second input is an estimate of the Hessian's diagonal, given beside the gradient.
  static constexpr bool kTakesCurvature = true;

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaHessian, Real>& state) {
    const Real gradient = e.gradient + c.decay * e.parameter;
    const Real m = c.beta1 * state.slot[0] + c.rest1 * gradient;
    const Real v = c.beta2 * state.slot[1] + c.rest2 * e.second_input * e.second_input;
    state.slot[0] = m;
    state.slot[1] = v;
    const Real root = square_root(v) * c.root_factor;
    const Real denominator = c.of_root * root + c.of_fourth_root * square_root(root) + c.epsilon;
    return c.keep * e.parameter - c.step_size * m / denominator;
  }
};
static_assert(UpdateRule<AdaHessian>);

}  // namespace sing
