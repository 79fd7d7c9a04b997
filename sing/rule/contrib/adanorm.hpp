// AdamNorm: Adam whose first moment takes no gradient shorter than gradients have been of late
// (docs/algorithm.md, eq. 35, 36).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

struct AdaNorm {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double norm_decay = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "adanorm";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement},
                                    {"gradient_norm", SlotShape::kScalar}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &AdaNorm::learning_rate, "step size", at_least(0)),
        field("beta1", &AdaNorm::beta1, "decay of the first moment", from_zero_below(1)),
        field("beta2", &AdaNorm::beta2, "decay of the second moment", from_zero_below(1)),
        field("norm_decay", &AdaNorm::norm_decay, "decay of the mean of the gradient's norm",
              from_zero_below(1)),
        field("epsilon", &AdaNorm::epsilon, "added to the second moment and to its root",
              at_least(0)),
        field("weight_decay", &AdaNorm::weight_decay, "weight decay", at_least(0)),
        field("decoupled_decay", &AdaNorm::decoupled_decay,
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
    Real norm_decay;
    Real norm;     // of the gradient; from finish()
    Real stretch;  // of the gradient in the first moment, at least 1; from advance()
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
            .norm_decay = Real(norm_decay),
            .norm = Real(0),
            .stretch = Real(1)};
  }

  // Squared gradient, L2 decay included.
  static constexpr std::size_t kSums = 1;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& c, const Element<Real>& e,
                                    const ElementState<AdaNorm, Real>& /*state*/,
                                    Real (&out)[kSums]) {
    const Real gradient = e.gradient + c.decay * e.parameter;
    out[0] = gradient * gradient;
  }

  template <class Real>
  SING_HOST_DEVICE static void finish(Constants<Real>& c, const double (&totals)[kSums],
                                      std::int64_t /*size*/) {
    c.norm = Real(::sqrt(totals[0]));
  }

  template <class Real>
  SING_HOST_DEVICE static void advance(Constants<Real>& c, ScalarState<AdaNorm>& scalars) {
    const double norm = static_cast<double>(c.norm);
    const double decay = static_cast<double>(c.norm_decay);
    const double usual = decay * scalars.slot[0] + (1 - decay) * norm;
    scalars.slot[0] = usual;
    c.stretch = Real(norm > 0 && usual > norm ? usual / norm : 1.0);
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaNorm, Real>& state) {
    const Real gradient = e.gradient + c.decay * e.parameter;
    const Real m = c.beta1 * state.slot[0] + c.rest1 * (c.stretch * gradient);
    const Real v = c.beta2 * state.slot[1] + c.rest2 * gradient * gradient + c.epsilon;
    state.slot[0] = m;
    state.slot[1] = v;
    return c.keep * e.parameter - c.step_size * m / (square_root(v) * c.root_factor + c.epsilon);
  }
};
static_assert(UpdateRule<AdaNorm>);

}  // namespace sing
