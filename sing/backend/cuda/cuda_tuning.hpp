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
  std::int64_t chunk_elements = 0;     // measured by a warp at a time, or one row if longer
  std::int64_t tile_elements = 0;      // updated by a warp at a time
  std::int64_t whole_elements = 2048;  // of tensors that one warp measures and updates at once
  // Of gradients measured and not yet applied. Large enough that no warp waits for the measuring of
  // a tensor: the second reading of a gradient came from memory with any window that was tried.
  std::int64_t window_bytes = 100LL << 20;
};

// Fills in what is 0, for a step over so many elements: large pieces cost less each, small ones
// give every warp some, and all of them an end at about the same time.
constexpr Tuning sized(Tuning tuning, std::int64_t elements) {
  if (tuning.chunk_elements == 0) {
    tuning.chunk_elements = elements < (std::int64_t{16} << 20) ? 2048 : 4096;
  }
  if (tuning.tile_elements == 0) {
    tuning.tile_elements = elements < (std::int64_t{64} << 20) ? 1024 : 2048;
  }
  return tuning;
}

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const Tuning& tuning);

}  // namespace sing::cuda
