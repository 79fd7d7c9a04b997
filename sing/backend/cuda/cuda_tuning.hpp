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
  // Updated by a warp at a time: at most this, and towards the end of a step a small part of what
  // is left, down to the least, so that all warps finish together.
  std::int64_t tile_elements = 2048;
  std::int64_t least_tile_elements = 512;
  std::int64_t tiles_left = 2048;      // that a tile is at most one part in
  std::int64_t whole_elements = 2048;  // of tensors that one warp measures and updates at once
  // Of gradients measured and not yet applied: what the second-level cache can hold some of.
  std::int64_t window_bytes = 20LL << 20;
  // Of gradients measured beyond the tensor that is being applied: they hide the way of its sums.
  // Of one too large to be held in the cache more, which costs no second reading there.
  std::int64_t beyond_bytes = 12LL << 20;
  std::int64_t beyond_large_bytes = 48LL << 20;
  // For matrices of one shape that are made orthogonal together, unless one alone needs more. A
  // ViT-S takes 7 % longer with half as much, and no less time with more.
  std::int64_t matrix_bytes = 128LL << 20;
};

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const Tuning& tuning);

}  // namespace sing::cuda
