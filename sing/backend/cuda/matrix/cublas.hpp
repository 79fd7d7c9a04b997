// Matrix products by cuBLAS, which is loaded when a rule first needs one.
#pragma once

#include <cublas_v2.h>

#include "sing/backend/backend.hpp"
#include "sing/backend/cuda/device_buffer.hpp"

namespace sing::cuda {

// Must be constructed while no graph is captured; its products can be captured.
class Cublas {
 public:
  // Throws CudaError if the library is not found.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // The sides of the matrices and the number of products must be below 2³¹.
  void multiply(const MatrixProduct& product, cudaStream_t stream) const;
  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceBuffer workspace_;  // given to cuBLAS, because a capture allows no allocation
};

}  // namespace sing::cuda
