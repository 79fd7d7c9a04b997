// A list of named tensors, in the forms in which LibTorch's users have them.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sing::torch {

using NamedTensor = std::pair<std::string, at::Tensor>;

// A list of parameters as modules give it. Parameters without a name are named by their position.
class Parameters {
 public:
  Parameters(std::initializer_list<at::Tensor> tensors);
  Parameters(std::initializer_list<NamedTensor> tensors) : tensors_(tensors) {}
  Parameters(const std::vector<at::Tensor>& tensors);
  Parameters(std::vector<NamedTensor> tensors) : tensors_(std::move(tensors)) {}
  Parameters(const ::torch::OrderedDict<std::string, at::Tensor>& tensors);

  const std::vector<NamedTensor>& tensors() const { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
};

}  // namespace sing::torch
