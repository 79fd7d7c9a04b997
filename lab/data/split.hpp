// Names the two parts of a data set, and the images that evaluations may use.
#pragma once

#include <cstdint>

#include "sing/base/enum_names.hpp"

namespace sing::lab::data {

// kTest: the examples that evaluations use, which are those of the EvaluationSet.
enum class Split : std::uint8_t { kTraining, kTest };

// kValidation: examples that are neither trained on nor in the test set, so that choices made with
// them leave the test set unseen.
enum class EvaluationSet : std::int32_t { kTest, kValidation };

constexpr auto enum_names(EvaluationSet) {
  return std::to_array<EnumName<EvaluationSet>>(
      {{EvaluationSet::kTest, "test"}, {EvaluationSet::kValidation, "validation"}});
}

}  // namespace sing::lab::data
