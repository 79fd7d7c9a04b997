// Words on their way from global to shared memory while a warp works on earlier ones: more bytes in
// flight than its registers could hold.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/team.cuh"

namespace sing::cuda {

// What the second-level cache is to do with the lines it reads, as createpolicy encodes it.
using CachePolicy = std::uint64_t;

// Lines that go like any others; also those that were held until now.
__device__ __forceinline__ CachePolicy usual_lines() {
  CachePolicy policy;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Some of the lines, three in eight, are among the last to go: all would push each other out.
__device__ __forceinline__ CachePolicy partly_held_lines() {
  CachePolicy policy;
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.375;" : "=l"(policy));
  return policy;
}

// The words of one lane. No other lane reads them, so that whoever asked for a word waits for it
// alone, without a barrier.
class Staging {
 public:
  __device__ __forceinline__ Staging() {
    extern __shared__ uint4 room[];  // kStagingBytes
    const auto first = static_cast<std::uint32_t>(__cvta_generic_to_shared(room));
    const auto warp = static_cast<std::uint32_t>(threadIdx.x) / 32;
    first_ = first + (warp * kStagedWords * 32 + static_cast<std::uint32_t>(warp_team().rank)) * 16;
  }

  // Asks for a word, past the first-level cache where the hardware can.
  template <class Word>
  __device__ __forceinline__ void copy(int slot, const Word* from) const {
    if constexpr (sizeof(Word) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(slot)), "l"(from)
                   : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address(slot)), "l"(from)
                   : "memory");
    }
  }

  template <class Word>
  __device__ __forceinline__ void copy(int slot, const Word* from, CachePolicy policy) const {
    if constexpr (sizeof(Word) == 16) {
      asm volatile(
          "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(address(slot)),
          "l"(from), "l"(policy)
          : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile(
          "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2;" ::"r"(address(slot)),
          "l"(from), "l"(policy)
          : "memory");
    }
  }

  // Closes a group of words asked for; may be empty.
  __device__ __forceinline__ static void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  // Until all groups but the kLater latest are here.
  template <int kLater>
  __device__ __forceinline__ static void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
  }

  template <class Word>
  __device__ __forceinline__ Word take(int slot) const {
    Word word;
    if constexpr (sizeof(Word) == 16) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                   : "r"(address(slot))
                   : "memory");
    } else {
      static_assert(sizeof(Word) == 8);
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(word.x), "=r"(word.y)
                   : "r"(address(slot))
                   : "memory");
    }
    return word;
  }

 private:
  // Words of neighbouring lanes lie side by side: no bank serves two of them at once.
  __device__ __forceinline__ std::uint32_t address(int slot) const {
    return first_ + static_cast<std::uint32_t>(slot) * 32 * 16;
  }

  std::uint32_t first_;  // in shared memory
};

}  // namespace sing::cuda
