// AdamNorm: Adam whose first moment stretches short gradients to the running mean of their norm
// (docs/algorithm.md, eq. 35, 36).
#pragma once

#include <cmath>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

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
    return std::tuple_cat(
        moment_fields<AdaNorm>(),
        std::tuple{field("norm_decay", &AdaNorm::norm_decay,
                         "decay of the running mean of the gradient's norm", from_zero_below(1)),
                   field("epsilon", &AdaNorm::epsilon, "added to the second moment and to its root",
                         at_least(0))},
        decay_fields<AdaNorm>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real step_size;    // learning rate / (1 − beta1^t)
    Real root_factor;  // 1 / √(1 − beta2^t)
    Real epsilon;
    Real norm_decay;
    Real norm;     // norm of the gradient; from finish()
    Real stretch;  // factor of the gradient in the first moment, at least 1; from advance()
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .step_size = Real(at.learning_rate / bias_divisor(beta1, at.step)),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(epsilon),
            .norm_decay = Real(norm_decay),
            .norm = Real(0),
            .stretch = Real(1)};
  }

  // Sum of the squared gradient, L2 decay included.
  static constexpr std::size_t kSums = 1;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& c, const Element<Real>& e,
                                    const ElementState<AdaNorm, Real>& /*state*/,
                                    Real (&out)[kSums]) {
    const Real gradient = c.decay.gradient(e);
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
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], c.stretch * gradient);
    const Real v = c.second.next_square(state.slot[1], gradient) + c.epsilon;
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter -
           c.step_size * m / (square_root(v) * c.root_factor + c.epsilon);
  }
};
static_assert(UpdateRule<AdaNorm>);

}  // namespace sing
