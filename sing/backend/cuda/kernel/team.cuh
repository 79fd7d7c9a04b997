// The threads that share a piece of work, their sums in a fixed order, and flags between blocks.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

inline constexpr unsigned int kFullWarp = 0xffffffffU;

// A whole block or one warp of it. A warp team never meets a block barrier.
struct Team {
  int rank;  // of this thread
  int size;  // in threads

  __device__ int lane() const { return rank % 32; }
  __device__ int warp() const { return rank / 32; }
  __device__ int warps() const { return size / 32; }
  __device__ bool is_block() const { return size > 32; }
  __device__ void barrier() const {
    if (is_block()) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
};

__device__ __forceinline__ Team block_team() {
  return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
}

// The lane is read anew wherever it is asked for (volatile): what the compiler derives from it
// would otherwise be kept in registers across all items, and the hot loops would lack them.
__device__ __forceinline__ Team warp_team() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return {lane, 32};
}

// Sum over aligned sub-warps of `width` lanes, the same in each of them.
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

// Sums over the team, valid in the thread of rank 0. `shared` holds kPassWarps · kCount values.
template <int kCount>
__device__ __forceinline__ void team_sum(Team team, double (&values)[kCount], double* shared) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    values[k] = warp_sum(values[k]);
  }
  if (!team.is_block()) {
    return;
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

__device__ __forceinline__ unsigned int load_flag(const unsigned int* flag) {
  unsigned int value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// A word of 16 bytes at once. What it guards must be read past the first-level cache (__ldcg): an
// acquire would empty that cache for the whole multiprocessor, some thousand times a step.
__device__ __forceinline__ Verdict load_verdict(const Verdict* from) {
  ulonglong2 words;
  asm volatile(
      "{\n .reg .b128 word;\n"
      " ld.relaxed.gpu.global.b128 word, [%2];\n"
      " mov.b128 {%0, %1}, word;\n}"
      : "=l"(words.x), "=l"(words.y)
      : "l"(from)
      : "memory");
  Verdict verdict;
  memcpy(&verdict, &words, sizeof(verdict));
  return verdict;
}

__device__ __forceinline__ void store_verdict(Verdict* to, const Verdict& verdict) {
  ulonglong2 words;
  memcpy(&words, &verdict, sizeof(words));
  asm volatile(
      "{\n .reg .b128 word;\n"
      " mov.b128 word, {%1, %2};\n"
      " st.relaxed.gpu.global.b128 [%0], word;\n}" ::"l"(to),
      "l"(words.x), "l"(words.y)
      : "memory");
}

// Without waiting for what was there.
__device__ __forceinline__ void add(std::int64_t* counter, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counter), static_cast<unsigned long long>(value));
}

// Adds 1, or sets back to 0 from `last`, after all writes before it; returns what was there.
__device__ __forceinline__ unsigned int increment_release(unsigned int* counter,
                                                          unsigned int last) {
  unsigned int before;
  asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}

// Not __threadfence, which orders the fences of all threads among each other and takes longer.
__device__ __forceinline__ void fence_acquire_release() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ __forceinline__ void store_release(unsigned int* flag, unsigned int value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

}  // namespace sing::cuda
