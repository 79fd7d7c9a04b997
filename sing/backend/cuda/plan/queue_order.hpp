// The order in which one launch measures and applies several tensors.
#pragma once

#include <span>
#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

struct QueuedTensor {
  std::uint32_t position;  // in the plan
  std::int64_t chunks;
  std::int64_t chunk_bytes, bytes;  // gradient bytes of a chunk and of the tensor
  std::int64_t beyond_bytes;        // gradient bytes to measure after it before it is applied
  std::int64_t elements;            // above 0
  std::vector<WorkItem> tiles;      // in the order in which they are applied
};

// Measure items run ahead of apply items, for two reasons. They keep at least a window of gradient
// bytes ahead, and they keep `beyond_bytes` ahead of the end of the tensor that is applied, which
// hides the latency of its reduction. The chunks that the next tensor needs are spread evenly
// between the tiles of this one: phases of only reads and only writes would use the memory less
// well.
std::vector<WorkItem> order_queue(std::span<const QueuedTensor> tensors, std::int64_t window_bytes);

}  // namespace sing::cuda
