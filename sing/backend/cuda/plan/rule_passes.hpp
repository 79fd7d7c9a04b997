// Finds the passes that a rule needs between measuring and applying.
#pragma once

#include <optional>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

struct RulePasses {
  bool factored, sums;
  bool by_element;  // its update reads single elements, never packs
  bool any() const { return factored || sums; }
};

inline RulePasses passes_of(std::size_t rule) {
  RulePasses passes{};
  std::size_t index = 0;
  for_each_rule_type([&]<class R>() {
    if (index++ == rule) {
      passes = {kIsFactored<R>, kHasSums<R>, kHasSecondInput<R>};
    }
  });
  return passes;
}

// The polynomial that makes a tensor orthogonal; none if its rule does not.
inline std::optional<NewtonSchulz> newton_schulz_of(const StepRequest& request,
                                                    const TensorStep& tensor) {
  return std::visit(
      [&]<class R>(const R& rule) -> std::optional<NewtonSchulz> {
        if constexpr (kIsOrthogonal<R>) {
          if (rule.orthogonalizes(tensor.layout.factored()) && tensor.layout.size > 0) {
            return rule.newton_schulz();
          }
        }
        return std::nullopt;
      },
      request.groups[tensor.group].rule);
}

}  // namespace sing::cuda
