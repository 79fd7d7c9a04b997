// What an update rule must offer, and the words it is written in.
//
// A rule is an aggregate of options with element formulas: no loops, no memory. The base needs
//   kName, kSlots, fields(), uses_slot(), Constants<Real>, constants<Real>(), update<Real>().
// A rule that needs statistics of its own adds what it needs of
//   kSums and sums<Real>(), finish<Real>(): sums over the whole tensor before the update;
//   scalar slots and advance<Real>(): state of one value a tensor, which the constants depend on;
//   clip_norm, an option: gradients are scaled down where all of them together are longer;
//   kFactored and factor_input<Real>(), factor_blend<Real>(), factor_estimate<Real>(): a second
//   moment kept as row and column means over the last two axes;
//   matrix_input<Real>(), orthogonalizes(), newton_schulz(): a matrix made orthogonal;
//   kTakesCurvature: an estimate of the Hessian's diagonal, given beside the gradient, which takes
//   its place where none is given;
//   softplus_bound<Real>(): at least what the update will take the softplus of, to some digits, so
//   that a loop may find out that a shorter formula does (sing/rule/math.hpp).
// Factored moments, matrices and curvature reach the update as its second input; a rule has one of
// them at most. A rule that users know by a second name, with other defaults, lists it in kForms.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sing/base/fields.hpp"
#include "sing/base/portable.hpp"

namespace sing {

enum class SlotShape {
  kElement,       // one value an element of the parameter
  kMatrixRow,     // one value a row of the last two axes
  kMatrixColumn,  // one value a column of the last two axes
  kScalar,        // one value a tensor
};

// One named array of state a parameter; element slots come first in a rule's list, scalars last.
struct Slot {
  std::string_view name;
  SlotShape shape;
};

// A rule with other defaults than its own, and the name for it.
template <class Rule>
struct Form {
  std::string_view name;
  Rule (*make)();
};

// What changes from step to step, resolved for one tensor.
struct StepScalars {
  std::int64_t step;     // of this parameter, from 1
  double learning_rate;  // with the schedule's factor
  double weight_decay;   // 0 where the tensor is not decayed
  bool factored;         // the tensor has two axes to factor over
  // The tensor as a matrix of its first axis by all others, for rules that make it orthogonal; 0
  // for others, so that their tensors share constants.
  std::int64_t rows = 0, columns = 0;

  bool operator==(const StepScalars&) const = default;
};

// What the formulas see of one element.
template <class Real>
struct Element {
  Real gradient;  // standardized
  Real parameter;
  // Factored second moment, orthogonal matrix or curvature, as the rule declares; else 0.
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
inline constexpr bool kHasScalars = kScalarSlotCount<Rule> != 0;
template <class Rule>
inline constexpr std::size_t kFirstScalarSlot = kSlotCount<Rule> - kScalarSlotCount<Rule>;

// The element slots of one element. At least one value, because C++ has no empty arrays.
template <class Rule, class Real>
struct ElementState {
  Real slot[kElementSlotCount<Rule> == 0 ? 1 : kElementSlotCount<Rule>];
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
template <class Rule>
inline constexpr bool kHasSums = kSumCount<Rule> != 0;

// The scalar slots of one tensor, 0 before its first update. A rule that has some offers
//   template <class Real> static void advance(Constants<Real>&, ScalarState<Rule>&)
// which gives them their new values and completes the constants, after finish() if there is one.
template <class Rule>
struct ScalarState {
  double slot[kScalarSlotCount<Rule> == 0 ? 1 : kScalarSlotCount<Rule>];
};

template <class Rule>
inline constexpr bool kIsFactored = requires { Rule::kFactored; };

// The polynomial a X + (b A + c A²) X, A = X Xᵀ, and how often it is applied.
struct NewtonSchulz {
  std::int64_t steps;
  double a, b, c;

  // NOLINTNEXTLINE(modernize-use-nullptr): the 0 that the compiler compares with
  auto operator<=>(const NewtonSchulz&) const = default;
};

template <class Rule>
inline constexpr bool kIsOrthogonal = requires(const Rule rule) { rule.newton_schulz(); };

template <class Rule>
inline constexpr bool kTakesCurvature = requires { Rule::kTakesCurvature; };

template <class Rule>
inline constexpr bool kHasForms = requires { Rule::kForms; };

template <class Rule>
inline constexpr bool kBoundsSoftplus = requires(
    const typename Rule::template Constants<float> constants,
    const ElementState<Rule, float> state) { Rule::softplus_bound(constants, 0.0F, state); };

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
