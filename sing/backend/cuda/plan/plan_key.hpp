// What a work plan depends on beside the tensors that a request's version stands for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

struct PlanKey {
  std::uint64_t version = 0;
  std::size_t tensors = 0;
  bool everything_first = false;
  std::vector<std::size_t> rules;  // of the groups
  std::vector<bool> centralizes;   // groups
  std::vector<Dtype> gradients;    // types of

  bool fits(const StepRequest& request) const {
    return version == request.version && tensors == request.tensors.size() &&
           everything_first == measures_everything_first(request) &&
           std::equal(rules.begin(), rules.end(), request.groups.begin(), request.groups.end(),
                      [](std::size_t rule, const GroupStep& group) {
                        return rule == group.rule.index();
                      }) &&
           std::equal(centralizes.begin(), centralizes.end(), request.groups.begin(),
                      request.groups.end(),
                      [](bool centralize, const GroupStep& group) {
                        return centralize == group.standardize.centralize;
                      }) &&
           std::equal(gradients.begin(), gradients.end(), request.tensors.begin(),
                      request.tensors.end(), [](Dtype dtype, const TensorStep& tensor) {
                        return dtype == tensor.gradient_dtype;
                      });
  }
};

inline PlanKey key_of(const StepRequest& request) {
  PlanKey key{.version = request.version,
              .tensors = request.tensors.size(),
              .everything_first = measures_everything_first(request),
              .rules = {},
              .centralizes = {},
              .gradients = {}};
  for (const GroupStep& group : request.groups) {
    key.rules.push_back(group.rule.index());
    key.centralizes.push_back(group.standardize.centralize);
  }
  for (const TensorStep& tensor : request.tensors) {
    key.gradients.push_back(tensor.gradient_dtype);
  }
  return key;
}

}  // namespace sing::cuda
