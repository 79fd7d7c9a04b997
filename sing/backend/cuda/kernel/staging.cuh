// Asynchronous copies from global to shared memory: a warp has more bytes in flight than its
// registers could hold, and works on earlier words while later ones arrive.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/threads.cuh"

namespace sing::cuda {

// An L2 eviction priority for the lines of a load, as createpolicy encodes it.
using CachePolicy = std::uint64_t;

// The normal priority; lines that evict_last_partly retained return to it.
__device__ __forceinline__ CachePolicy evict_normal() {
  CachePolicy policy;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Retains three lines in eight: if all were retained, they would evict each other.
__device__ __forceinline__ CachePolicy evict_last_partly() {
  CachePolicy policy;
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.375;" : "=l"(policy));
  return policy;
}

// The staged words of one lane. No other lane reads them, so a lane waits for its own copies only
// and needs no barrier.
class Staging {
 public:
  __device__ __forceinline__ Staging() {
    extern __shared__ uint4 room[];  // kStagingBytes
    const auto first = static_cast<std::uint32_t>(__cvta_generic_to_shared(room));
    const auto warp = static_cast<std::uint32_t>(threadIdx.x) / 32;
    first_ = first + (warp * kStagedWords * 32 + static_cast<std::uint32_t>(lane_id())) * 16;
  }

  // Starts the copy of a word, past L1 where the hardware can (16 bytes).
  template <class Word>
  __device__ __forceinline__ void copy(int index, const Word* from) const {
    if constexpr (sizeof(Word) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(index)), "l"(from)
                   : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address(index)), "l"(from)
                   : "memory");
    }
  }

  template <class Word>
  __device__ __forceinline__ void copy(int index, const Word* from, CachePolicy policy) const {
    if constexpr (sizeof(Word) == 16) {
      asm volatile(
          "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(address(index)),
          "l"(from), "l"(policy)
          : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile(
          "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2;" ::"r"(address(index)),
          "l"(from), "l"(policy)
          : "memory");
    }
  }

  // Closes the group of copies started since the last commit; the group may be empty.
  __device__ __forceinline__ static void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  // Waits until all groups but the latest kLater have arrived.
  template <int kLater>
  __device__ __forceinline__ static void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
  }

  template <class Word>
  __device__ __forceinline__ Word take(int index) const {
    Word word;
    if constexpr (sizeof(Word) == 16) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                   : "r"(address(index))
                   : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(word.x), "=r"(word.y)
                   : "r"(address(index))
                   : "memory");
    }
    return word;
  }

 private:
  // Neighboring lanes use neighboring words, so that there are no bank conflicts.
  __device__ __forceinline__ std::uint32_t address(int index) const {
    return first_ + static_cast<std::uint32_t>(index) * 32 * 16;
  }

  std::uint32_t first_;  // in shared memory
};

}  // namespace sing::cuda
