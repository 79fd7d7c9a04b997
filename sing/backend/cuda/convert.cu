// Converts arrays between the floating types of up to 32 bits.
#include <algorithm>

#include "sing/backend/cuda/convert.hpp"
#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/backend/cuda/element_io.cuh"

namespace sing::cuda {
namespace {

constexpr int kConvertThreads = 256;

// Launch shape: a thread an element, up to 4096 blocks, then a stride. Two to eight bytes an
// element.
__global__ void convert_kernel(void* to, Dtype to_dtype, GradientRecord from, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const Pack<float, 1> value{load_gradient<float>(from, i)};
    if (is_narrow(to_dtype)) {
      stream_store<Sixteen>(to, i, value, to_dtype == Dtype::kFloat16);
    } else {
      stream_store<float>(to, i, value, false);
    }
  }
}

}  // namespace

void convert(void* to,
             Dtype to_dtype,
             const void* from,
             Dtype from_dtype,
             std::int64_t count,
             cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  if (to_dtype == from_dtype) {
    check(cudaMemcpyAsync(to,
                          from,
                          static_cast<std::size_t>(count) * size_of(to_dtype),
                          cudaMemcpyDeviceToDevice,
                          stream),
          "copying an array");
    return;
  }
  const std::int64_t blocks =
      std::min<std::int64_t>((count + kConvertThreads - 1) / kConvertThreads, 4096);
  const GradientRecord source{from, static_cast<std::int64_t>(from_dtype)};
  convert_kernel<<<static_cast<unsigned int>(blocks), kConvertThreads, 0, stream>>>(
      to, to_dtype, source, count);
  check(cudaGetLastError(), "launching a conversion");
}

}  // namespace sing::cuda
