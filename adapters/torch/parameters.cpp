// A list of named tensors, in the forms in which LibTorch's users have them.
#include "adapters/torch/parameters.hpp"

namespace sing::torch {

Parameters::Parameters(std::initializer_list<at::Tensor> tensors)
    : Parameters(std::vector<at::Tensor>(tensors)) {}

Parameters::Parameters(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    tensors_.emplace_back(std::string(), tensor);
  }
}

Parameters::Parameters(const ::torch::OrderedDict<std::string, at::Tensor>& tensors) {
  for (const auto& item : tensors) {
    tensors_.emplace_back(item.key(), item.value());
  }
}

}  // namespace sing::torch
