// What the library needs of LibTorch's tensors: names, types, layouts, memory, threads, streams.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing::torch {

using NamedTensor = std::pair<std::string, at::Tensor>;

// A list of parameters as modules give it. Those without a name are called by their position.
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

// Name, shape, type and device, for messages.
std::string describe(const std::string& name, const at::Tensor& tensor);

// Throws std::invalid_argument, naming the tensor, unless it is dense, floating and on a device
// that the library was built for.
void check_tensor(const std::string& name, const at::Tensor& tensor);

// Throws unless rows (and matrices, for rules with factored moments) lie in memory as the library
// takes them to: any contiguous tensor, and channels-last ones, whose axis 0 is outermost too.
void check_layout(const std::string& name, const at::Tensor& tensor, const Options& options);

bool same_strides(const at::Tensor& a, const at::Tensor& b);

Dtype dtype_of(const at::Tensor& tensor);
std::vector<std::int64_t> shape_of(const at::Tensor& tensor);

// Work on LibTorch's threads, or on the device's current stream with state from its allocator.
std::shared_ptr<Backend> make_backend(const at::Device& device);

// `memory` as a tensor that keeps it alive.
at::Tensor view_memory(std::shared_ptr<void> memory, Dtype dtype, const at::Device& device,
                       at::IntArrayRef shape, at::IntArrayRef strides);

}  // namespace sing::torch
