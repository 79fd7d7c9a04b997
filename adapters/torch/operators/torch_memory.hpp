// Memory and threads of torch for the library, through torch's stable C interface alone.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::operators {

using Tensor = torch::stable::Tensor;

// Zeroed bytes from torch's allocator for that device; the pointer keeps the tensor alive.
std::shared_ptr<void> allocate_bytes(const Device& device, std::size_t bytes);

// Whether a tensor can own memory of the library: from torch 2.11 on.
bool can_own_library_memory();

// The bytes at `memory` as a tensor that shares them and keeps them alive. `memory` came from
// allocate_bytes(), or points into something that did, or is the library's own on the CPU.
Tensor bytes_of(const std::shared_ptr<void>& memory, std::size_t bytes);

// Runs tasks on torch's threads, so that two pools never fight for the cores.
void run_on_torch_threads(int count, const std::function<void(int)>& task);

// What a step must know of a tensor. Reading it costs a few nanoseconds, so each step does.
struct TensorFacts {
  std::int32_t dtype;  // torch's number
  Device device;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

// `who` names the tensor in messages. Sparse tensors and devices unknown to the library are
// refused.
TensorFacts facts_of(const Tensor& tensor, const std::string& who);

// A gradient as the step needs it to be known; making TensorFacts of each would cost more than all
// else.
struct GradientFacts {
  std::int32_t dtype;
  bool is_alike;  // has the parameter's layout too; strides of axes of extent 1 do not count
};

// Throws unless the gradient is dense and has the parameter's shape and device.
GradientFacts check_gradient(const Tensor& gradient, const TensorFacts& parameter,
                             const std::string& who);

// A copy of `tensor` that has the layout of `facts`.
Tensor copied_to_layout(const Tensor& tensor, const TensorFacts& facts);

Dtype dtype_of(std::int32_t torch_dtype, const std::string& who);

// Contents of a uint8 tensor in host memory, and the other way round.
Tensor tensor_of(std::string_view bytes);
std::string_view view_of(const Tensor& bytes);

}  // namespace sing::operators
