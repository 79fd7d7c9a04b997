// Compares a request with the one a work plan was made for.
#include "sing/backend/plan_key.hpp"

#include <algorithm>

namespace sing {

PlanKey::GroupOptions PlanKey::options_of(const GroupStep& group) {
  return {.rule = group.rule.index(),
          .newton_schulz = newton_schulz_of(group.rule, true),
          .clips = group.clip_limit().has_value(),
          .centralizes = group.standardize.centralize,
          .normalizes = group.standardize.normalize != Normalize::kOff};
}

PlanKey::PlanKey(const StepRequest& request, AbsentGradients absent)
    : version_(request.version), non_finite_(request.non_finite) {
  for (const GroupStep& group : request.groups) {
    groups_.push_back(options_of(group));
  }
  for (const TensorStep& tensor : request.tensors) {
    gradient_dtypes_.push_back(tensor.gradient_dtype);
    if (absent == AbsentGradients::kLeftOut) {
      has_gradient_.push_back(tensor.gradient != nullptr);
    }
  }
}

bool PlanKey::fits(const StepRequest& request) const {
  const auto has_gradient = [](const TensorStep& tensor) { return tensor.gradient != nullptr; };
  return version_ == request.version && non_finite_ == request.non_finite &&
         std::ranges::equal(groups_, request.groups, {}, {}, &PlanKey::options_of) &&
         std::ranges::equal(gradient_dtypes_, request.tensors, {}, {},
                            &TensorStep::gradient_dtype) &&
         (has_gradient_.empty() ||
          std::ranges::equal(has_gradient_, request.tensors, {}, {}, has_gradient));
}

std::size_t PlanKey::bytes() const {
  return groups_.capacity() * sizeof(GroupOptions) + gradient_dtypes_.capacity() * sizeof(Dtype) +
         has_gradient_.capacity();
}

}  // namespace sing
