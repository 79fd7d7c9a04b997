// Muon: orthogonalized momentum for matrices, AdamW for all other tensors (docs/algorithm.md, eq.
// 40 to 42).
#pragma once

#include <cmath>
#include <string>

#include "sing/rule/math.hpp"
#include "sing/rule/moments.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

// The factor of a matrix's learning rate.
enum class RateAdjustment : std::int32_t { kOriginal, kMatchRmsAdamw };

constexpr auto enum_names(RateAdjustment) {
  return std::to_array<EnumName<RateAdjustment>>(
      {{RateAdjustment::kOriginal, "original"},
       {RateAdjustment::kMatchRmsAdamw, "match_rms_adamw"}});
}

struct Muon {
  double learning_rate = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;
  double norm_floor = 1e-7;
  std::int64_t newton_steps = 5;
  double newton_a = 3.4445;
  double newton_b = -4.7750;
  double newton_c = 2.0315;
  RateAdjustment rate_adjustment = RateAdjustment::kOriginal;
  bool orthogonalize = true;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  static constexpr std::string_view kName = "muon";
  static constexpr Slot kSlots[] = {{"momentum", SlotShape::kElement},
                                    {"second_moment", SlotShape::kElement}};

  static constexpr auto fields() {
    return std::tuple{
        field("learning_rate", &Muon::learning_rate, "step size", at_least(0)),
        field("momentum", &Muon::momentum, "decay of a matrix's momentum", from_zero_below(1)),
        field("nesterov", &Muon::nesterov, "use Nesterov's momentum"),
        field("weight_decay", &Muon::weight_decay, "decoupled weight decay", at_least(0)),
        field("norm_floor", &Muon::norm_floor,
              "lower bound of the norm that a matrix is divided by", at_least(1e-300)),
        field("newton_steps", &Muon::newton_steps,
              "Newton-Schulz iterations that orthogonalize a matrix", between(0, 99)),
        field("newton_a", &Muon::newton_a, "coefficient of X in the iteration", between(-100, 100)),
        field("newton_b", &Muon::newton_b, "coefficient of X X' X in the iteration",
              between(-100, 100)),
        field("newton_c", &Muon::newton_c, "coefficient of X X' X X' X in the iteration",
              between(-100, 100)),
        field("rate_adjustment", &Muon::rate_adjustment,
              "factor of a matrix's learning rate: sqrt(max(1, rows / columns)) or 0.2 "
              "sqrt(max(rows, columns))"),
        field("orthogonalize", &Muon::orthogonalize,
              "off uses AdamW for matrices too, as is usual for embeddings and output layers"),
        field("beta1", &Muon::beta1, "AdamW: decay of the first moment", from_zero_below(1)),
        field("beta2", &Muon::beta2, "AdamW: decay of the second moment", from_zero_below(1)),
        field("epsilon", &Muon::epsilon, "AdamW: added to the root of the second moment",
              at_least(0))};
  }

  // A matrix keeps only its momentum.
  bool uses_slot(std::size_t slot, bool factored) const {
    return slot == 0 || !orthogonalizes(factored);
  }

  SING_HOST_DEVICE bool orthogonalizes(bool factored) const { return orthogonalize && factored; }

  NewtonSchulz newton_schulz() const { return {newton_steps, newton_a, newton_b, newton_c}; }

  template <class Real>
  struct Constants {
    RunningMean<Real> first, second;  // for a matrix, first is its momentum
    Real keep;                        // 1 − learning rate · weight decay
    Real of_gradient, of_momentum;    // weight of each in the matrix that is made orthogonal
    Real norm_floor;
    Real input_factor;  // 1 / norm of the matrix that is made orthogonal; from finish()
    Real matrix_rate;   // 0 for AdamW
    Real step_size;     // learning rate / (1 − beta1^t); 0 for a matrix
    Real root_factor;   // 1 / √(1 − beta2^t)
    Real epsilon;       // 1 for a matrix, which has no second moment to divide by
  };

  template <class Real>
  SING_HOST_DEVICE Constants<Real> constants(const StepScalars& at) const {
    const bool is_matrix = orthogonalizes(at.factored);
    return {.first = RunningMean<Real>::of(is_matrix ? momentum : beta1),
            .second = RunningMean<Real>::of(beta2),
            .keep = Real(1 - at.learning_rate * at.weight_decay),
            .of_gradient = Real(nesterov ? 1 - momentum : 0.0),
            .of_momentum = Real(nesterov ? momentum : 1.0),
            .norm_floor = Real(norm_floor),
            .input_factor = Real(0),
            .matrix_rate = Real(is_matrix ? at.learning_rate * rate_factor(at) : 0.0),
            .step_size = Real(is_matrix ? 0.0 : at.learning_rate / bias_divisor(beta1, at.step)),
            .root_factor = Real(1 / ::sqrt(bias_divisor(beta2, at.step))),
            .epsilon = Real(is_matrix ? 1.0 : epsilon)};
  }

  // Sum of squares of the matrix that is made orthogonal.
  static constexpr std::size_t kSums = 1;

  template <class Real>
  SING_HOST_DEVICE static void sums(const Constants<Real>& c, const Element<Real>& e,
                                    const ElementState<Muon, Real>& state, Real (&out)[kSums]) {
    const Real input = blended(c, e, state);
    out[0] = input * input;
  }

  template <class Real>
  SING_HOST_DEVICE static void finish(Constants<Real>& c, const double (&totals)[kSums],
                                      std::int64_t /*size*/) {
    c.input_factor = Real(1 / larger(::sqrt(totals[0]), static_cast<double>(c.norm_floor)));
  }

  // An element of the matrix that the backend makes orthogonal. The result is the update's
  // second_input.
  template <class Real>
  SING_HOST_DEVICE static Real matrix_input(const Constants<Real>& c, const Element<Real>& e,
                                            const ElementState<Muon, Real>& state) {
    return c.input_factor * blended(c, e, state);
  }

  template <class Real>
  SING_HOST_DEVICE static Real update(const Constants<Real>& c, const Element<Real>& e,
                                      ElementState<Muon, Real>& state) {
    const Real m = c.first.next(state.slot[0], e.gradient);
    const Real v = c.second.next_square(state.slot[1], e.gradient);
    state.slot[0] = m;
    state.slot[1] = v;
    return c.keep * e.parameter - c.matrix_rate * e.second_input -
           c.step_size * m / (square_root(v) * c.root_factor + c.epsilon);
  }

 private:
  SING_HOST_DEVICE double rate_factor(const StepScalars& at) const {
    const double rows = static_cast<double>(at.rows);
    const double columns = static_cast<double>(at.columns);
    return rate_adjustment == RateAdjustment::kOriginal ? ::sqrt(larger(1.0, rows / columns))
                                                        : 0.2 * ::sqrt(larger(rows, columns));
  }

  template <class Real>
  SING_HOST_DEVICE static Real blended(const Constants<Real>& c, const Element<Real>& e,
                                       const ElementState<Muon, Real>& state) {
    const Real m = c.first.next(state.slot[0], e.gradient);
    return c.of_gradient * e.gradient + c.of_momentum * m;
  }
};
static_assert(UpdateRule<Muon>);

}  // namespace sing
