// Holds low-precision copies of parameters, which the optimizer updates and matrix products read.
#pragma once

#include <unordered_map>

#include "lab/fused/functions.hpp"

namespace sing::lab::model {

class WeightCopies {
 public:
  void add(const at::Tensor& parameter, const at::Tensor& copy) {
    copies_[parameter.unsafeGetTensorImpl()] = copy;
  }

  // The copy is undefined if the parameter has none.
  fused::Copied of(const at::Tensor& parameter) const {
    const auto found = copies_.find(parameter.unsafeGetTensorImpl());
    return {parameter, found == copies_.end() ? at::Tensor() : found->second};
  }

 private:
  std::unordered_map<const at::TensorImpl*, at::Tensor> copies_;
};

}  // namespace sing::lab::model
