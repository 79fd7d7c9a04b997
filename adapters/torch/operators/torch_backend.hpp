// A backend whose memory and CPU threads are torch's.
#pragma once

#include <functional>
#include <memory>

#include "sing/backend/backend.hpp"

namespace sing::operators {

// `current_stream` returns the CUDA stream of the following work; the CPU backend does not call it.
std::shared_ptr<Backend> make_torch_backend(const Device& device,
                                            std::function<void*()> current_stream);

}  // namespace sing::operators
