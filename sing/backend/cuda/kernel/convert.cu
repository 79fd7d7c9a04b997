// Converts arrays between the floating types of up to 32 bits, and blends two.
#include <algorithm>

#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/backend/cuda/kernel/convert.hpp"
#include "sing/backend/cuda/kernel/element_io.cuh"

namespace sing::cuda {
namespace {

constexpr int kConvertThreads = 256;

// Launch shape: one thread per element, up to 4096 blocks, then a stride. Moves four or six bytes
// per element.
__global__ void convert_kernel(void* to, Dtype to_dtype, GradientRecord from, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const Pack<float, 1> value{load_gradient<float>(from, i)};
    if (is_narrow(to_dtype)) {
      stream_store<Bits16>(to, i, value, to_dtype == Dtype::kFloat16);
    } else {
      stream_store<float>(to, i, value, false);
    }
  }
}

// Launch shape: as above. Moves eight to twelve bytes per element, or 24 in float64.
template <class Real>
__global__ void blend_kernel(void* to, Dtype to_dtype, GradientRecord from, const Real* towards,
                             Real share, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const Real start = load_gradient<Real>(from, i);
    const Pack<Real, 1> value{start + share * (towards[i] - start)};
    if constexpr (std::is_same_v<Real, float>) {
      if (is_narrow(to_dtype)) {
        stream_store<Bits16>(to, i, value, to_dtype == Dtype::kFloat16);
        continue;
      }
    }
    stream_store<Real>(to, i, value, false);
  }
}

unsigned int blocks_for(std::int64_t count) {
  return static_cast<unsigned int>(
      std::min<std::int64_t>((count + kConvertThreads - 1) / kConvertThreads, 4096));
}

}  // namespace

void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  const GradientRecord from{blend.from, static_cast<std::int64_t>(blend.from_dtype), nullptr};
  if (to_dtype == Dtype::kFloat64) {
    blend_kernel<double><<<blocks_for(count), kConvertThreads, 0, stream>>>(
        to, to_dtype, from, static_cast<const double*>(blend.towards), blend.share, count);
  } else {
    blend_kernel<float><<<blocks_for(count), kConvertThreads, 0, stream>>>(
        to, to_dtype, from, static_cast<const float*>(blend.towards),
        static_cast<float>(blend.share), count);
  }
  check(cudaGetLastError(), "to launch a blend");
}

void convert(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count,
             cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  if (to_dtype == from_dtype) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * size_of(to_dtype),
                          cudaMemcpyDeviceToDevice, stream),
          "to copy an array");
    return;
  }
  const GradientRecord source{from, static_cast<std::int64_t>(from_dtype), nullptr};
  convert_kernel<<<blocks_for(count), kConvertThreads, 0, stream>>>(to, to_dtype, source, count);
  check(cudaGetLastError(), "to launch a conversion");
}

}  // namespace sing::cuda
