// NAdam: Adam with Nesterov's momentum under a momentum schedule (docs/algorithm.md, eq. 19, 20).
#pragma once

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct NAdam {
  double learning_rate = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 4e-3;
  double weight_decay = 0;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "nadam";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple_cat(
        moment_fields<NAdam>(), epsilon_field<NAdam>(),
        std::tuple{field("momentum_decay", &NAdam::momentum_decay,
                         "rate at which the momentum rises from beta1 / 2 to beta1", at_least(0))},
        decay_fields<NAdam>());
  }

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Decay<Real> decay;
    Real of_moment, of_gradient;  // step size of each, with its bias correction
    Real root_factor;             // 1 / √(1 − beta2^t)
    Real epsilon;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double product = momentum_product(at.step);
    const double next = momentum(at.step + 1);
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .of_moment = Real(at.learning_rate * next / (1 - product * next)),
            .of_gradient = Real(at.learning_rate * (1 - momentum(at.step)) / (1 - product)),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(epsilon)};
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<NAdam, Real>& state) {
    const Real gradient = c.decay.gradient(e);
    const Real m = c.first.next(state.slot[0], gradient);
    const Real v = c.second.next_square(state.slot[1], gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    return c.decay.keep * e.parameter - (c.of_moment * m + c.of_gradient * gradient) /
                                            (square_root(v) * c.root_factor + c.epsilon);
  }

 private:
  SING_HOST_DEVICE double log_base() const {
    return momentum_decay * -0.04082199452025517;
  }  // ln 0.96

  // μ_t of the schedule.
  SING_HOST_DEVICE double momentum(std::int64_t step) const {
    return beta1 * (1 - 0.5 * ::exp(static_cast<double>(step) * log_base()));
  }

  // Π μ_i for i = 1 … t in closed form, so that no running product has to be kept as state. With
  // q = 0.96^momentum_decay it is β₁ᵗ Π (1 − qⁱ/2), whose logarithm is
  //   t ln β₁ − Σ_k (q^k + q^2k + … + q^tk) / (k 2^k),   each bracket a geometric sum.
  // Each term is less than half of the one before it, and all have the same sign. Once the sum is
  // below −45, the product does not change 1 − product. Until then the first term is below 45, so
  // that the one for k = 64 is below 1e-18 and the loop ends.
  SING_HOST_DEVICE double momentum_product(std::int64_t step) const {
    if (beta1 <= 0) {
      return 0;
    }
    const double count = static_cast<double>(step);
    double logarithm = count * ::log(beta1);
    double half_power = 1;
    for (int k = 1; logarithm > -45; ++k) {
      half_power /= 2;
      const double exponent = k * log_base();
      const double bracket =
          exponent < 0 ? ::exp(exponent) * ::expm1(count * exponent) / ::expm1(exponent) : count;
      const double term = half_power / k * bracket;
      logarithm -= term;
      if (term < 1e-18) {
        break;
      }
    }
    return ::exp(logarithm);
  }
};
static_assert(UpdateRule<NAdam>);

}  // namespace sing
