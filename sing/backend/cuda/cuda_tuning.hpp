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
  std::int64_t chunk_elements = 16384;     // multiple of 4, kWarpElements to kMaxChunkElements
  std::int64_t window_bytes = 12LL << 20;  // of gradients measured and not yet applied
  int threads = 512;                       // of a block; multiple of 32, 64 to kMaxThreads
  int blocks_per_multiprocessor = 0;       // 0: as many as fit
};

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const Tuning& tuning);

}  // namespace sing::cuda
