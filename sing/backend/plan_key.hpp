// Decides, for every backend, whether the work plan of an earlier step serves a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

// Says whether a plan has work for the tensors that have no gradient.
enum class AbsentGradients { kPlanned, kLeftOut };

// Everything in a request that a work plan may depend on. A backend keeps the key of its plan, and
// the plan for as long as fits() holds.
class PlanKey {
 public:
  PlanKey(const StepRequest& request, AbsentGradients absent);

  // Allocates nothing: backends ask at every step.
  bool fits(const StepRequest& request) const;

  std::size_t bytes() const;

 private:
  // The options of a group that decide how its tensors are worked on. Numbers such as learning
  // rates are read at each step and are not among them.
  struct GroupOptions {
    std::size_t rule;                           // index in Rule
    std::optional<NewtonSchulz> newton_schulz;  // where the rule makes matrices orthogonal
    bool clips;
    bool centralizes;
    bool normalizes;

    bool operator==(const GroupOptions&) const = default;
  };

  static GroupOptions options_of(const GroupStep& group);

  std::uint64_t version_;
  NonFinite non_finite_;
  std::vector<GroupOptions> groups_;
  std::vector<Dtype> gradient_dtypes_;      // one per tensor
  std::vector<std::uint8_t> has_gradient_;  // one per tensor; empty for AbsentGradients::kPlanned
};

}  // namespace sing
