// Renders the pixels of a scene.
#pragma once

#include <cstdint>

#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// Destination of one image, in row order; null pointers are skipped.
struct ImageBuffers {
  float* image = nullptr;             // [size, size] gray values, background 0
  float* target = nullptr;            // [size, size] height / count, background 0
  std::uint8_t* rectangle = nullptr;  // [size, size] k for the k-th drawn, background 0
};

// height / count, as in the target.
inline float target_of(const Scene& scene, std::size_t k) {
  return static_cast<float>(scene.heights[k]) / static_cast<float>(scene.count);
}

void render(const Scene& scene, const ImageBuffers& buffers);

}  // namespace sing::lab::rde
