// AdaFactor: a second moment factored over the last two axes, updates clipped by their root mean
// square (docs/algorithm.md, eq. 12 to 16).
#pragma once

#include <cmath>
#include <optional>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

struct AdaFactor {
  double learning_rate = 1e-2;  // an upper bound of the step size if relative_step is on
  double decay_power = 0.8;
  double square_epsilon = 1e-30;
  double scale_epsilon = 1e-3;
  double clip_threshold = 1;
  bool scale_parameter = true;
  bool relative_step = false;
  double weight_decay = 0;
  std::optional<double> softplus_beta = std::nullopt;

  static constexpr std::string_view kName = "adafactor";
  static constexpr Slot kSlots[] = {{"second_moment", SlotShape::kElement},
                                    {"row_second_moment", SlotShape::kMatrixRow},
                                    {"column_second_moment", SlotShape::kMatrixColumn}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &AdaFactor::learning_rate, "step size", at_least(0)),
        field("decay_power", &AdaFactor::decay_power,
              "exponent of the second moment's decay, 1 - step^-power", between(0, 1)),
        field("square_epsilon", &AdaFactor::square_epsilon, "added to the squared gradient",
              at_least(0)),
        field("scale_epsilon", &AdaFactor::scale_epsilon,
              "lower bound of the parameter's root mean square", at_least(0)),
        field("clip_threshold", &AdaFactor::clip_threshold,
              "upper bound of an update's root mean square", at_least(1e-30)),
        field("scale_parameter", &AdaFactor::scale_parameter,
              "multiply the step by the parameter's root mean square"),
        field("relative_step", &AdaFactor::relative_step,
              "use the step size min(learning_rate, 1/sqrt(step))"),
        field("weight_decay", &AdaFactor::weight_decay, "decoupled weight decay", at_least(0)),
        field("softplus_beta", &AdaFactor::softplus_beta,
              "sharpness of the softplus that replaces the root; none turns it off",
              at_least(1e-3))};
  }

  bool uses_slot(std::size_t slot, bool factored) const { return (slot > 0) == factored; }

  template <class Real>
  struct Constants {
    RunningMean<Real> second;
    Real square_epsilon;
    Softplus<Real> softplus;
    Real direction_factor;  // softplus_beta, or 1
    Real learning_rate, weight_decay, scale_epsilon, clip_threshold;
    Real keep;       // 1 − step size · weight decay; from finish()
    Real step_size;  // with parameter scale and clipping; from finish()
    bool scale_parameter, factored;
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const double step = static_cast<double>(at.step);
    const double rest = ::pow(step, -decay_power);
    const double sharpness = softplus_beta.has_value() ? *softplus_beta : 0.0;
    const double rate =
        relative_step ? smaller(at.learning_rate, 1 / ::sqrt(step)) : at.learning_rate;
    return {.second = {Real(1 - rest), Real(rest)},
            .square_epsilon = Real(square_epsilon),
            .softplus = Softplus<Real>::of(sharpness, 1),
            .direction_factor = Real(sharpness > 0 ? sharpness : 1.0),
            .learning_rate = Real(rate),
            .weight_decay = Real(at.weight_decay),
            .scale_epsilon = Real(scale_epsilon),
            .clip_threshold = Real(clip_threshold),
            .keep = Real(1),
            .step_size = Real(0),
            .scale_parameter = scale_parameter,
            .factored = at.factored};
  }

  static constexpr bool kFactored = true;

  template <class Real>
  SING_HOST_DEVICE static Real factor_input(const Constants<Real>& c, Real gradient) {
    return gradient * gradient + c.square_epsilon;
  }

  // Running mean of a row's or a column's inputs.
  template <class Real>
  SING_HOST_DEVICE static Real factor_blend(const Constants<Real>& c, Real old, Real mean) {
    return c.second.next(old, mean);
  }

  template <class Real>
  SING_HOST_DEVICE static Real factor_estimate(Real row, Real column, Real mean_of_rows) {
    return row / mean_of_rows * column;
  }

  // Sums over the tensor: squared update before clipping, squared parameter.
  static constexpr std::size_t kSums = 2;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& c, const Element<Real>& e,
                                    const ElementState<AdaFactor, Real>& state,
                                    Real (&out)[kSums]) {
    ElementState<AdaFactor, Real> next = state;
    const Real unclipped = direction(c, e, next);
    out[0] = unclipped * unclipped;
    out[1] = e.parameter * e.parameter;
  }

  template <class Real>
  SING_HOST_DEVICE static void finish(Constants<Real>& c, const double (&totals)[kSums],
                                      std::int64_t size) {
    const double count = static_cast<double>(size);
    const double update_size = ::sqrt(totals[0] / count);
    const double parameter_size = ::sqrt(totals[1] / count);
    const double scale =
        c.scale_parameter ? larger(static_cast<double>(c.scale_epsilon), parameter_size) : 1.0;
    const double rate = static_cast<double>(c.learning_rate) * scale;
    c.keep = Real(1 - rate * static_cast<double>(c.weight_decay));
    c.step_size = Real(rate / larger(1.0, update_size / static_cast<double>(c.clip_threshold)));
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<AdaFactor, Real>& state) {
    return c.keep * e.parameter - c.step_size * direction(c, e, state);
  }

 private:
  template <class Real>
  SING_HOST_DEVICE static Real direction(const Constants<Real>& c, const Element<Real>& e,
                                         ElementState<AdaFactor, Real>& state) {
    const Real own = factor_blend(c, state.slot[0], factor_input(c, e.gradient));
    const Real v = c.factored ? e.second_input : own;
    state.slot[0] = own;
    const Quotient<Real> denominator =
        c.softplus.beta > 0 ? softplus(v, c.softplus) : Quotient<Real>{square_root(v), Real(1)};
    return c.direction_factor * e.gradient * denominator.below / denominator.above;
  }
};
static_assert(UpdateRule<AdaFactor>);

}  // namespace sing
