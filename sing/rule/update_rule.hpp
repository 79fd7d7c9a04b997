// The interface of update rules, and the types that their formulas are written with.
//
// A rule is an aggregate of options with formulas for one element. It has no loops and no memory.
// Every rule has kName, kSlots, fields(), uses_slot(), Constants<Real>, constants<Real>() and
// update<Real>(); the concept UpdateRule at the end of this file checks them. A rule may also take
// part in the optional protocols below. Each is described where the constant is declared that
// detects it: kHasSums, kHasScalars, kIsFactored, kIsOrthogonal, kTakesCurvature,
// kHasEvaluationSlot, kBoundsSoftplus and kHasForms.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sing/base/fields.hpp"
#include "sing/base/portable.hpp"

namespace sing {

enum class SlotShape {
  kElement,       // one value per element of the parameter
  kMatrixRow,     // one value per row of the last two axes
  kMatrixColumn,  // one value per column of the last two axes
  kScalar,        // one value per tensor
};

// A named array of a parameter's state. In a rule's list, element slots come first and scalar slots
// last.
struct Slot {
  std::string_view name;
  SlotShape shape;
  bool holds_weights = false;  // the slot is not a mean, and rounding errors in it would add up
};

// A second name of a rule, with defaults that differ from the rule's own.
template <class Rule>
struct Form {
  std::string_view name;
  Rule (*make)();
  // The option of all rules (sing/optim/options.hpp) that the name sets too.
  std::optional<double> clip_norm = std::nullopt;
};

// The numbers of one step that the constants of a tensor depend on.
struct StepScalars {
  std::int64_t step;     // number of this parameter's update, from 1
  double learning_rate;  // with the schedule's factor
  double weight_decay;   // 0 if the tensor is not decayed
  bool factored;         // whether the tensor has at least two axes
  // The tensor as a matrix of its first axis by all others, for rules that make it orthogonal. For
  // other rules both are 0, so that tensors of different shapes share constants.
  std::int64_t rows = 0, columns = 0;

  bool operator==(const StepScalars&) const = default;
};

// The inputs of the formulas for one element.
template <class Real>
struct Element {
  Real gradient;  // standardized
  Real parameter;
  // The factored second moment, the orthogonal matrix or the curvature, for rules that have one;
  // else 0.
  Real second_input;
};

template <class Rule>
inline constexpr std::size_t kSlotCount = std::size(Rule::kSlots);

template <class Rule>
constexpr std::size_t count_slots(SlotShape shape) {
  std::size_t count = 0;
  for (const Slot& slot : Rule::kSlots) {
    count += slot.shape == shape ? 1 : 0;
  }
  return count;
}
template <class Rule>
inline constexpr std::size_t kElementSlotCount = count_slots<Rule>(SlotShape::kElement);
template <class Rule>
inline constexpr std::size_t kScalarSlotCount = count_slots<Rule>(SlotShape::kScalar);
template <class Rule>
inline constexpr std::size_t kFirstScalarSlot = kSlotCount<Rule> - kScalarSlotCount<Rule>;

// The element slots of one element. It has at least one value, because C++ has no empty arrays.
template <class Rule, class Real>
struct ElementState {
  Real slot[kElementSlotCount<Rule> == 0 ? 1 : kElementSlotCount<Rule>];
};

// The scalar slots of one tensor, which are 0 before its first update.
template <class Rule>
struct ScalarState {
  double slot[kScalarSlotCount<Rule> == 0 ? 1 : kScalarSlotCount<Rule>];
};

template <class Rule>
constexpr std::size_t count_sums() {
  if constexpr (requires { Rule::kSums; }) {
    return Rule::kSums;
  } else {
    return 0;
  }
}
template <class Rule>
inline constexpr std::size_t kSumCount = count_sums<Rule>();

// A rule that depends on sums over the whole tensor declares their number kSums, and one element's
// terms in sums(constants, element, state, out). The backend adds the terms in a pass of its own,
// and finish(constants, totals, size) completes the constants from the totals before the update.
template <class Rule>
inline constexpr bool kHasSums = kSumCount<Rule> != 0;

// A rule with state of one value per tensor lists slots of SlotShape::kScalar. Before each update,
// and after finish() if there is one, advance(constants, scalars) gives the slots their new values
// and completes the constants.
template <class Rule>
inline constexpr bool kHasScalars = kScalarSlotCount<Rule> != 0;

// A rule that keeps its second moment as row and column means over the last two axes declares
// kFactored and three formulas: factor_input() gives the value that is averaged, factor_blend() the
// new mean, and factor_estimate() an element of the moment from its row and its column. The
// estimate is the update's second input.
template <class Rule>
inline constexpr bool kIsFactored = requires { Rule::kFactored; };

// The polynomial a X + (b A + c A²) X, A = X Xᵀ, which is applied `steps` times.
struct NewtonSchulz {
  std::int64_t steps;
  double a, b, c;

  // NOLINTNEXTLINE(modernize-use-nullptr): the 0 that the compiler compares with
  auto operator<=>(const NewtonSchulz&) const = default;
};

// A rule that makes a matrix orthogonal gives the matrix's elements in matrix_input(), the
// iteration in newton_schulz(), and the tensors it applies to in orthogonalizes(factored). The
// backend runs the iteration, and the result is the update's second input.
template <class Rule>
inline constexpr bool kIsOrthogonal = requires(const Rule rule) { rule.newton_schulz(); };

// A rule that declares kTakesCurvature receives an estimate of the Hessian's diagonal as the
// update's second input. Where the caller sets none, the gradient takes its place.
template <class Rule>
inline constexpr bool kTakesCurvature = requires { Rule::kTakesCurvature; };

// A rule whose parameters are not the weights to evaluate declares kEvaluationSlot and
// evaluation_share(). The weights for evaluation are parameter + share · (slot − parameter).
template <class Rule>
inline constexpr bool kHasEvaluationSlot = requires { Rule::kEvaluationSlot; };

// A rule that divides by a softplus may declare softplus_bound(constants, gradient, state), an
// upper bound of the value under the softplus's root up to rounding. Where the bound is small in a
// whole block, the CPU uses a shorter formula (sing/rule/math.hpp).
template <class Rule>
inline constexpr bool kBoundsSoftplus = requires(
    const typename Rule::template Constants<float> constants,
    const ElementState<Rule, float> state) { Rule::softplus_bound(constants, 0.0F, state); };

// A rule that is known under a second name, with other defaults, lists the name in kForms. The name
// is accepted wherever a rule's name is.
template <class Rule>
inline constexpr bool kHasForms = requires { Rule::kForms; };

// The protocols that use the update's second input exclude each other.
template <class Rule>
inline constexpr bool kHasSecondInput =
    kIsFactored<Rule> || kIsOrthogonal<Rule> || kTakesCurvature<Rule>;

template <class Rule>
concept UpdateRule = HasFields<Rule> && std::is_aggregate_v<Rule> &&
                     requires(const Rule rule, const StepScalars scalars,
                              const typename Rule::template Constants<float> constants,
                              const Element<float> element, ElementState<Rule, float> state) {
                       { Rule::kName } -> std::convertible_to<std::string_view>;
                       { rule.learning_rate } -> std::convertible_to<double>;
                       { rule.weight_decay } -> std::convertible_to<double>;
                       { rule.uses_slot(std::size_t{}, bool{}) } -> std::same_as<bool>;
                       { rule.template constants<double>(scalars) };
                       { Rule::update(constants, element, state) } -> std::same_as<float>;
                     };

}  // namespace sing
