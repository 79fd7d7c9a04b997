// Memory, threads and tensors of torch for the library, through torch's stable C interface alone.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adapters/tensor/tensor_view.hpp"
#include "sing/backend/backend.hpp"

namespace sing::operators {

using Tensor = torch::stable::Tensor;

// Zeroed bytes from torch's allocator for that device; the pointer keeps the tensor alive.
std::shared_ptr<void> allocate_bytes(const Device& device, std::size_t bytes);

// Returns whether a tensor can own memory of the library: from torch 2.11 on.
bool can_own_library_memory();

// The bytes at `memory` as a tensor that shares them and keeps them alive. `memory` came from
// allocate_bytes(), or points into something that did, or is the library's own on the CPU.
Tensor bytes_of(const std::shared_ptr<void>& memory, std::size_t bytes);

// Runs tasks on torch's threads, so that two pools never compete for the cores.
void run_on_torch_threads(int count, const std::function<void(int)>& task);

TensorView view_of(const Tensor& tensor);

// Copies the tensor, in its own type, to the device and the strides of `facts`.
Tensor copied_to_lie_as(const TensorFacts& facts, const Tensor& tensor);

}  // namespace sing::operators
