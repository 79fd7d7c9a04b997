// Describes LibTorch's tensors to the library, and wraps the library's memory in tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>

#include "adapters/tensor/tensor_view.hpp"

namespace sing::torch {

// Name, shape, type and device, for messages.
std::string describe(const std::string& name, const at::Tensor& tensor);

Dtype dtype_of(const at::Tensor& tensor);  // wants a type that the library knows
at::Device torch_device(const Device& device);
TensorView view_of(const at::Tensor& tensor);  // wants a defined tensor

// The facts of a tensor that the kernels can work on where it lies. Throws std::invalid_argument,
// naming it, unless it is defined, floating, without gaps and overlaps in memory, and on a CPU or
// CUDA device.
TensorFacts facts_of(std::string_view role, std::string_view name, const at::Tensor& tensor);

// The tensor itself, or a copy that lies in memory as the parameter does.
at::Tensor laid_out_as(const TensorFacts& parameter, const at::Tensor& tensor);

// `memory` as a tensor that keeps it alive.
at::Tensor view_memory(std::shared_ptr<void> memory, Dtype dtype, const Device& device,
                       at::IntArrayRef shape, at::IntArrayRef strides);

}  // namespace sing::torch
