// Computes GELU or ReLU with dropout of a matrix product plus its bias, and the gradients of both.
// Each thread handles eight columns of every gridDim.x-th row.
#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr float kRootHalf = 0.70710678f;
constexpr float kDensityAtZero = 0.39894228f;  // 1 / √(2π)

__device__ float normal_below(float x) { return 0.5f * (1.0f + erff(x * kRootHalf)); }

template <bool kRectifies>
__global__ void forward(BiasGelu at) {
  const std::int64_t column = 8 * threadIdx.x;
  float bias[8];
  load(at.bias, column, bias);
#pragma unroll 2
  for (std::int64_t row = blockIdx.x; row < at.rows; row += gridDim.x) {
    float values[8];
    load<4>(at.values, row * at.columns + column, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float x = values[i] + bias[i];
      values[i] = kRectifies ? fmaxf(x, 0) : x * normal_below(x);
    }
    drop(at.keep, row * at.columns + column, at.keep_factor, values);
    store<4>(at.out, row * at.columns + column, values);
  }
}

__device__ float slope_of_gelu(float x) {
  return normal_below(x) + x * kDensityAtZero * __expf(-0.5f * x * x);
}

template <bool kRectifies>
__global__ void backward(BiasGeluGradient at) {
  const std::int64_t column = 8 * threadIdx.x;
  float bias[8];
  load(at.bias, column, bias);
  float sums[8] = {};
#pragma unroll 2
  for (std::int64_t row = blockIdx.x; row < at.rows; row += gridDim.x) {
    float values[8], gradients[8];
    load<4>(at.values, row * at.columns + column, values);
    load<4>(at.out_gradient, row * at.columns + column, gradients);
    drop(at.keep, row * at.columns + column, at.keep_factor, gradients);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float x = values[i] + bias[i];
      gradients[i] *= kRectifies ? (x > 0 ? 1.0f : 0.0f) : slope_of_gelu(x);
      sums[i] += gradients[i];
    }
    store<4>(at.values_gradient, row * at.columns + column, gradients);
  }
  float* const out = at.partial + blockIdx.x * at.columns + column;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[i] = sums[i];
  }
}

constexpr unsigned kForwardBlocks = 1056;  // eight per multiprocessor of an H100 or H200

}  // namespace

void bias_gelu(const BiasGelu& at, Stream stream) {
  const auto kernel = at.rectifies ? forward<true> : forward<false>;
  kernel<<<kForwardBlocks, static_cast<unsigned>(at.columns / 8), 0,
           static_cast<cudaStream_t>(stream)>>>(at);
  check_launch("bias_gelu");
}

void bias_gelu_gradient(const BiasGeluGradient& at, Stream stream) {
  const auto kernel = at.rectifies ? backward<true> : backward<false>;
  kernel<<<kPartialRows, static_cast<unsigned>(at.columns / 8), 0,
           static_cast<cudaStream_t>(stream)>>>(at);
  check_launch("bias_gelu_gradient");
  sum_partial_rows(at.partial, kPartialRows, at.columns, at.bias_gradient, stream);
}

}  // namespace sing::lab::fused
