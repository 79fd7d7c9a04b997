// LAMB as in its paper, and in the form that NVIDIA trains with (docs/algorithm.md, eq. 31 and 32).
#pragma once

#include <cmath>
#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"
#include "sing/rule/weight_decay.hpp"

namespace sing {

struct Lamb {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;
  bool bias_correction = false;
  bool always_adapt = true;
  std::optional<double> norm_limit = 10;
  bool decoupled_decay = false;

  static constexpr std::string_view kName = "lamb";
  static constexpr Slot kSlots[] = {{"first_moment", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &Lamb::learning_rate, "step size", at_least(0)),
        field("beta1", &Lamb::beta1, "decay of the first moment", from_zero_below(1)),
        field("beta2", &Lamb::beta2, "decay of the second moment", from_zero_below(1)),
        field("epsilon", &Lamb::epsilon, "added to the root of the second moment", at_least(0)),
        field("weight_decay", &Lamb::weight_decay,
              "strength of the weight decay, which is part of the update's norm", at_least(0)),
        field("bias_correction", &Lamb::bias_correction, "correct both moments as Adam does"),
        field("always_adapt", &Lamb::always_adapt,
              "use a trust ratio for tensors without weight decay too"),
        field("norm_limit", &Lamb::norm_limit,
              "upper bound of the parameter's norm in the trust ratio; none sets no bound",
              at_least(1e-30)),
        field("decoupled_decay", &Lamb::decoupled_decay,
              "decay the parameter directly, outside the trust ratio")};
  }

  // NVIDIA's NVLAMB clips all gradients together and corrects both moments. It has no norm limit,
  // and no trust ratio for tensors without weight decay.
  static Lamb nvidia() {
    return {.weight_decay = 0.01,
            .bias_correction = true,
            .always_adapt = false,
            .norm_limit = std::nullopt};
  }
  static constexpr Form<Lamb> kForms[] = {{.name = "nvlamb", .make = nvidia, .clip_norm = 1}};

  bool uses_slot(std::size_t /*slot*/, bool /*factored*/) const { return true; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;
    Real moment_factor, root_factor;  // 1 / (1 − beta1^t), 1 / √(1 − beta2^t), or 1
    Real epsilon;
    Decay<Real> decay;   // its share is added to the direction
    Real learning_rate;  // step size without the trust ratio
    Real norm_limit;     // 0 if there is none
    Real step_size;      // from finish()
    bool adapts;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    return {.first = RunningMean<Real>::of(beta1),
            .second = RunningMean<Real>::of(beta2),
            .moment_factor = Real(bias_correction ? 1 / bias_divisor(beta1, at.step) : 1.0),
            .root_factor = Real(bias_correction ? 1 / ::sqrt(bias_divisor(beta2, at.step)) : 1.0),
            .epsilon = Real(epsilon),
            .decay = Decay<Real>::of(at, decoupled_decay),
            .learning_rate = Real(at.learning_rate),
            .norm_limit = Real(norm_limit.has_value() ? *norm_limit : 0.0),
            .step_size = Real(at.learning_rate),
            .adapts = always_adapt || at.weight_decay != 0};
  }

  // Sums of the squared parameter and of the squared update.
  static constexpr std::size_t kSums = 2;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& c, const Element<Real>& e,
                                    const ElementState<Lamb, Real>& state, Real (&out)[kSums]) {
    ElementState<Lamb, Real> next = state;
    const Real direction = direction_of(c, e, next);
    out[0] = e.parameter * e.parameter;
    out[1] = direction * direction;
  }

  template <class Real>
  SING_HOST_DEVICE static void finish(Constants<Real>& c, const double (&totals)[kSums],
                                      std::int64_t /*size*/) {
    const double unlimited = ::fabs(static_cast<double>(c.decay.keep)) * ::sqrt(totals[0]);
    const double limit = static_cast<double>(c.norm_limit);
    const double weights = limit > 0 ? smaller(unlimited, limit) : unlimited;
    const double update = ::sqrt(totals[1]);
    const double trust = c.adapts && weights > 0 && update > 0 ? weights / update : 1.0;
    c.step_size = Real(static_cast<double>(c.learning_rate) * trust);
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Lamb, Real>& state) {
    return c.decay.keep * e.parameter - c.step_size * direction_of(c, e, state);
  }

 private:
  template <class Real>
  SING_HOST_DEVICE static Real direction_of(const Constants<Real>& c, const Element<Real>& e,
                                            ElementState<Lamb, Real>& state) {
    const Real m = c.first.next(state.slot[0], e.gradient);
    const Real v = c.second.next_square(state.slot[1], e.gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    return c.moment_factor * m / (square_root(v) * c.root_factor + c.epsilon) +
           c.decay.share * e.parameter;
  }
};
static_assert(UpdateRule<Lamb>);

}  // namespace sing
