// A backend whose memory and CPU threads are torch's.
#include "adapters/torch/operators/torch_backend.hpp"

#include <algorithm>
#include <thread>

#include "adapters/torch/operators/torch_memory.hpp"
#include "adapters/torch/operators/torch_product.hpp"

namespace sing::operators {

std::shared_ptr<Backend> make_torch_backend(const Device& device,
                                            std::function<void*()> current_stream) {
  const Allocator allocator = [device](std::size_t bytes) { return allocate_bytes(device, bytes); };
  if (device.type == DeviceType::kCpu) {
    // More tasks than torch has threads do no harm, and torch's number may be raised later.
    return make_cpu_backend(
        {.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
         .executor = run_on_torch_threads,
         // The library's own memory has large pages; torch's has none.
         .allocator = can_own_library_memory() ? Allocator{} : allocator,
         .multiply = multiply_by_torch});
  }
  return make_cuda_backend({.device = device.index,
                            .current_stream = std::move(current_stream),
                            .allocator = allocator});
}

}  // namespace sing::operators
