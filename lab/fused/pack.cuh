// Defines packs of four or eight adjacent elements, sums and maxima of a warp, and checked
// launches.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "lab/fused/kernels.hpp"
#include "sing/base/error.hpp"

namespace sing::lab::fused {

inline constexpr int kWarp = 32;

inline void check(cudaError_t status, const std::string& kernel) {
  if (status != cudaSuccess) {
    throw CudaError("[fused] " + kernel + ": " + cudaGetErrorString(status));
  }
}

inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

// kPairs pairs of bf16, aligned to their size.
template <int kPairs>
struct alignas(4 * kPairs) Pack {
  __nv_bfloat162 pair[kPairs];
};

// Loads may be moved before earlier stores: they only read memory that the kernel does not write.
template <int kPairs>
__device__ inline void load(const BFloat16* values, std::int64_t offset, float (&to)[2 * kPairs]) {
  static_assert(kPairs == 2 || kPairs == 4);
  using Word = std::conditional_t<kPairs == 2, uint2, uint4>;
  const Word word = __ldg(reinterpret_cast<const Word*>(values) + offset / (2 * kPairs));
  const auto& pack = reinterpret_cast<const Pack<kPairs>&>(word);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const float2 both = __bfloat1622float2(pack.pair[i]);
    to[2 * i] = both.x;
    to[2 * i + 1] = both.y;
  }
}

template <int kPairs>
__device__ inline void store(BFloat16* values, std::int64_t offset,
                             const float (&from)[2 * kPairs]) {
  Pack<kPairs> pack;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    pack.pair[i] = __floats2bfloat162_rn(from[2 * i], from[2 * i + 1]);
  }
  reinterpret_cast<Pack<kPairs>*>(values)[offset / (2 * kPairs)] = pack;
}

__device__ inline void load(const float* values, std::int64_t offset, float (&to)[4]) {
  const float4 four = reinterpret_cast<const float4*>(values)[offset / 4];
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

__device__ inline void load(const float* values, std::int64_t offset, float (&to)[8]) {
#pragma unroll
  for (int half = 0; half < 8; half += 4) {
    float four[4];
    load(values, offset + half, four);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[half + i] = four[i];
    }
  }
}

__device__ inline void store(float* values, std::int64_t offset, const float (&from)[4]) {
  reinterpret_cast<float4*>(values)[offset / 4] = make_float4(from[0], from[1], from[2], from[3]);
}

// Applies dropout: multiplies each element by the factor if it is kept, or else by 0. If `keep` is
// null, nothing changes.
template <int kCount>
__device__ inline void drop(const std::uint8_t* keep, std::int64_t offset, float factor,
                            float (&values)[kCount]) {
  static_assert(kCount % 4 == 0);
  if (keep == nullptr) {
    return;
  }
#pragma unroll
  for (int word = 0; word < kCount / 4; ++word) {
    const unsigned four = __ldg(reinterpret_cast<const unsigned*>(keep + offset) + word);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[4 * word + i] *= (four >> (8 * i) & 0xffu) != 0 ? factor : 0;
    }
  }
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

__device__ inline float warp_maximum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Computes sums[columns] of partial[rows, columns].
void sum_partial_rows(const float* partial, std::int64_t rows, std::int64_t columns, float* sums,
                      Stream stream);

}  // namespace sing::lab::fused
