// The type that the large arrays of a rule's state are stored in (docs/memory.md).
#pragma once

#include <cstdint>

#include "sing/base/dtype.hpp"
#include "sing/rule/update_rule.hpp"

namespace sing {

enum class StateType : std::int32_t { kFloat32, kBFloat16 };

constexpr auto enum_names(StateType) {
  return std::to_array<EnumName<StateType>>(
      {{StateType::kFloat32, "float32"}, {StateType::kBFloat16, "bfloat16"}});
}

// Returns whether a slot is stored in bfloat16 and rounded stochastically
// (sing/rule/stochastic_rounding.hpp). Means over rows or columns and single numbers take little
// memory and keep their precision, and so do weights.
SING_HOST_DEVICE constexpr bool is_rounded(const Slot& slot, StateType state) {
  return state == StateType::kBFloat16 && slot.shape == SlotShape::kElement && !slot.holds_weights;
}

constexpr Dtype slot_dtype(const Slot& slot, StateType state, Dtype parameter) {
  return is_rounded(slot, state) ? Dtype::kBFloat16 : state_dtype(parameter);
}

}  // namespace sing
