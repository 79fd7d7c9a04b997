// The numbers that decide how a CUDA step is cut into items and in which order they are queued.
// Benchmarks and tests vary them; users get the defaults.
#pragma once

#include <cstdint>
#include <memory>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

struct StepTuning {
  std::int64_t chunk_elements = 4096;  // elements of a chunk, or one row if that is longer
  // A tile has at most tile_elements. Towards the end of a step it has at most one part in
  // tiles_left of the remaining elements, but not fewer than least_tile_elements, so that all warps
  // finish at about the same time.
  std::int64_t tile_elements = 2048;
  std::int64_t least_tile_elements = 512;
  std::int64_t tiles_left = 2048;
  // A tensor of one chunk and at most this many elements is measured and updated by one item.
  std::int64_t small_elements = 2048;
  // Measuring runs at least this many gradient bytes ahead of applying: so many that L2 still holds
  // a part of them.
  std::int64_t window_bytes = 20LL << 20;
  // Gradient bytes that are measured beyond the end of a tensor before its first tile: they hide
  // the latency of the tensor's reduction. Tensors too large for L2 use the larger value: they are
  // read from memory twice anyway.
  std::int64_t beyond_bytes = 12LL << 20;
  std::int64_t beyond_large_bytes = 48LL << 20;
  // Device memory for a batch of matrices, unless one matrix alone needs more. With half as much a
  // ViT-S step takes 7 % longer; more memory makes it no faster.
  std::int64_t matrix_bytes = 128LL << 20;
};

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const StepTuning& tuning);

}  // namespace sing::cuda
