// Launches the CUDA kernel that augments a batch of small images.
#pragma once

#include <cstdint>

#include "lab/fused/kernels.hpp"

namespace sing::lab::image {

// The kernel writes the same floats as the tensor functions of augment.cpp.
struct AugmentedBatch {
  const std::uint8_t* pixels;  // [N, channels, size, size]
  const std::int32_t* rows;    // [count, columns of augment_parameters.hpp]
  const float* mean;           // [channels]
  const float* scale;          // [channels]
  float* images;               // [count, size, size, channels]
  std::int64_t count;
  int channels, size;
  bool rotates;
};
// Throws in a build without CUDA (no_augment_kernel.cpp).
void augment(const AugmentedBatch& batch, fused::Stream stream);

}  // namespace sing::lab::image
