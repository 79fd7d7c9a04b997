// The whole augmentation of a batch as one CUDA kernel, with the same floats as Augmenter's tensor
// functions. Without CUDA it throws (no_augment_kernel.cpp).
#pragma once

#include <cstdint>

namespace sing::image {

struct AugmentedBatch {
  const std::uint8_t* pixels;  // [N, channels, size, size]
  const std::int32_t* rows;    // [count, kColumns]
  const float* mean;           // [channels]
  const float* scale;          // [channels]
  float* images;               // [count, size, size, channels]
  std::int64_t count;
  int channels, size;
  bool turns;
};

// `stream` is a cudaStream_t.
void augment_on_gpu(const AugmentedBatch& batch, void* stream);

}  // namespace sing::image
