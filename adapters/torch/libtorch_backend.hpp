// A backend that works in LibTorch's memory and on its threads and streams.
#pragma once

#include <memory>

#include "sing/backend/backend.hpp"

namespace sing::torch {

// Runs on LibTorch's threads, or on the device's current stream with state from its allocator.
// LibTorch multiplies matrices.
std::shared_ptr<Backend> make_libtorch_backend(const Device& device);

}  // namespace sing::torch
