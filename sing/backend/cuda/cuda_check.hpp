// Turns a CUDA status into a CudaError that says what was being done.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

#include "sing/base/error.hpp"

namespace sing::cuda {

inline void check(cudaError_t status, std::string_view where) {
  if (status != cudaSuccess) {
    // Clears the error, so that the next call does not report it again.
    cudaGetLastError();
    throw CudaError("[cuda] " + std::string(where) + ": " + cudaGetErrorName(status) + ", " +
                    cudaGetErrorString(status));
  }
}

}  // namespace sing::cuda
