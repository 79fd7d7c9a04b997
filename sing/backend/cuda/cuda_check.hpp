// Turns a CUDA status into a CudaError that says what was wanted.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

#include "sing/base/error.hpp"

namespace sing::cuda {

// `wanted` completes the sentence "wanted …", for example "to make an event".
inline void check(cudaError_t status, std::string_view wanted) {
  if (status != cudaSuccess) {
    cudaGetLastError();  // clears the error, so that the next call does not report it again
    throw CudaError("[cuda] wanted " + std::string(wanted) + ", got " + cudaGetErrorName(status) +
                    ": " + cudaGetErrorString(status));
  }
}

}  // namespace sing::cuda
