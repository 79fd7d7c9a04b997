// How a CUDA step is cut up and launched: what the benchmark varies. Users get the defaults.
#pragma once

#include <cstdint>
#include <memory>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

enum class Variant {
  kTwoLaunches,  // measure everything, then apply everything
  kWindows,      // a pair of launches for every window of gradient bytes
  kQueue,        // one launch; measure runs a window ahead of apply
};

struct Tuning {
  Variant variant = Variant::kQueue;
  std::int64_t chunk_elements = 4096;  // measured by a warp at a time, or one row if longer
  std::int64_t tile_elements = 1024;   // updated by a warp at a time
  std::int64_t whole_elements = 2048;  // of tensors that one warp measures and updates at once
  // Of gradients measured and not yet applied. Large enough that no warp waits for the measuring of
  // a tensor: the second reading of a gradient came from memory with any window that was tried.
  std::int64_t window_bytes = 100LL << 20;
};

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const Tuning& tuning);

}  // namespace sing::cuda
