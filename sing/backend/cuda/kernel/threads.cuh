// The threads that share a piece of work, and their sums in a fixed order.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

inline constexpr unsigned int kFullWarp = 0xffffffffU;

// This thread's lane. It is read again at every call (volatile): what the compiler derives from it
// would otherwise stay in registers across all items, and the hot loops would lack them.
__device__ __forceinline__ int lane_id() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// The threads that share a loop over elements: one warp or a whole block.
struct Team {
  int rank;  // this thread's number
  int size;  // in threads

  __device__ int lane() const { return rank % 32; }
  __device__ int warp() const { return rank / 32; }
  __device__ int warps() const { return size / 32; }
};

__device__ __forceinline__ Team warp_team() { return {lane_id(), 32}; }

__device__ __forceinline__ Team block_team() {
  return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
}

// Sum over aligned groups of `width` lanes, the same in each lane of a group.
template <class Real>
__device__ __forceinline__ Real warp_sum(Real value, int width = 32) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    if (offset < width) {
      value += __shfl_xor_sync(kFullWarp, value, offset);
    }
  }
  return value;
}

// Sums over the block, valid in thread 0. `shared` holds kPassWarps · kCount values.
template <int kCount>
__device__ __forceinline__ void block_sum(double (&values)[kCount], double* shared) {
  const Team team = block_team();
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    values[k] = warp_sum(values[k]);
  }
  __syncthreads();
  if (team.lane() == 0) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      shared[team.warp() * kCount + k] = values[k];
    }
  }
  __syncthreads();
  if (team.rank == 0) {
    for (int warp = 1; warp < team.warps(); ++warp) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        values[k] += shared[warp * kCount + k];
      }
    }
  }
}

}  // namespace sing::cuda
