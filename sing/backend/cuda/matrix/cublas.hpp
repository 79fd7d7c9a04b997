// Matrix products by cuBLAS, which is looked for when it is first needed.
#pragma once

#include <cublas_v2.h>

#include "sing/backend/backend.hpp"
#include "sing/backend/cuda/device_buffer.hpp"

namespace sing::cuda {

// Made outside of a capture; its products can be captured.
class Cublas {
 public:
  // Throws CudaError if the library is not found.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // Sides and number of products below 2^31.
  void multiply(const MatrixProduct& product, cudaStream_t stream) const;
  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceBuffer workspace_;  // its own, because a capture allows no allocation
};

}  // namespace sing::cuda
