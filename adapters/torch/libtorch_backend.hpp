// A backend that works in LibTorch's memory and on its threads and streams.
#pragma once

#include <memory>

#include "sing/backend/backend.hpp"

namespace sing::torch {

// On the CPU it runs on LibTorch's threads; on CUDA it uses the current stream, and state from
// LibTorch's allocator. LibTorch multiplies matrices.
std::shared_ptr<Backend> make_libtorch_backend(const Device& device);

}  // namespace sing::torch
