// The order in which one launch measures and applies several tensors.
#pragma once

#include <span>
#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

struct QueuedTensor {
  std::uint32_t at;  // its place in the plan
  std::int64_t chunks;
  std::int64_t chunk_bytes, bytes;  // of its gradient
  std::int64_t beyond;              // gradient bytes to be measured after it before it is applied
  std::int64_t elements;            // above 0
  std::vector<WorkItem> tiles;      // in the order in which they are to be applied
};

// Measure items run ahead of apply items: by a window of gradient bytes at least, and by some
// beyond the tensor at hand, which hide the way of its sums. What is to be measured before the next
// tensor can be applied is measured evenly meanwhile: reading alone, then writing alone, would use
// the memory less well.
std::vector<WorkItem> order_queue(std::span<const QueuedTensor> tensors, std::int64_t window_bytes);

}  // namespace sing::cuda
