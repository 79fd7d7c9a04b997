// Stands in for backend/cuda in builds without CUDA.
#include "sing/backend/backend.hpp"

namespace sing {

std::unique_ptr<Backend> make_cuda_backend(const CudaResources& /*resources*/) {
  throw CudaError("[cuda] wanted a library built with CUDA, got one without");
}

bool is_cuda_available() { return false; }

}  // namespace sing
