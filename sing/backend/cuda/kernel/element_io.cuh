// Loads and stores of packs of elements. Loading raw words and converting them are separate, so
// that all loads of an iteration are in flight before the first is used.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

// A bfloat16 or float16 element; which of the two, the tensor's dtype says at run time.
struct Bits16 {
  std::uint16_t bits;
};

template <int kBytes>
using Word = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, unsigned int, unsigned short>>>;

template <class Stored, int kWidth>
using WordOf = Word<static_cast<int>(sizeof(Stored)) * kWidth>;

// A pack is the run of elements that one lane loads and updates at once: 16 bytes of state, and as
// many elements of the other arrays.
template <class Real>
inline constexpr int kPackWidth = 16 / static_cast<int>(sizeof(Real));

template <class Real, int kWidth>
struct Pack {
  Real value[kWidth];
};

template <class Stored, int kWidth>
__device__ __forceinline__ const WordOf<Stored, kWidth>* word_at(const void* base, std::int64_t i) {
  return reinterpret_cast<const WordOf<Stored, kWidth>*>(static_cast<const Stored*>(base) + i);
}

// For data that a pass touches once: the load bypasses L1. Hints to evict the line from L2 early
// (.cs, evict_first) make a step 2 % slower, L1::no_allocate instead of the bypass 3 %.
template <class Stored, int kWidth>
__device__ __forceinline__ WordOf<Stored, kWidth> stream_word(const void* base, std::int64_t i) {
  return __ldcg(word_at<Stored, kWidth>(base, i));
}

__device__ __forceinline__ float widen(unsigned int bits, bool is_half) {
  const auto low = static_cast<unsigned short>(bits);
  return is_half ? __half2float(__ushort_as_half(low)) : __uint_as_float(bits << 16);
}

__device__ __forceinline__ unsigned int narrow(float value, bool is_half) {
  return is_half ? __half_as_ushort(__float2half_rn(value))
                 : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

template <class Real, class Stored, int kWidth>
__device__ __forceinline__ Pack<Real, kWidth> unpack(WordOf<Stored, kWidth> word, bool is_half) {
  Pack<Real, kWidth> pack;
  if constexpr (std::is_same_v<Stored, Bits16>) {
    if constexpr (kWidth == 1) {
      pack.value[0] = widen(word, is_half);
    } else {
      pack.value[0] = widen(word.x & 0xffffU, is_half);
      pack.value[1] = widen(word.x >> 16, is_half);
      pack.value[2] = widen(word.y & 0xffffU, is_half);
      pack.value[3] = widen(word.y >> 16, is_half);
    }
  } else {
    static_assert(sizeof(pack) == sizeof(word));
    memcpy(&pack, &word, sizeof(pack));
  }
  return pack;
}

template <class Stored, class Real, int kWidth>
__device__ __forceinline__ void stream_store(void* base, std::int64_t i,
                                             const Pack<Real, kWidth>& pack, bool is_half) {
  WordOf<Stored, kWidth> word;
  if constexpr (std::is_same_v<Stored, Bits16>) {
    if constexpr (kWidth == 1) {
      word = static_cast<unsigned short>(narrow(pack.value[0], is_half));
    } else {
      word.x = narrow(pack.value[0], is_half) | narrow(pack.value[1], is_half) << 16;
      word.y = narrow(pack.value[2], is_half) | narrow(pack.value[3], is_half) << 16;
    }
  } else {
    memcpy(&word, &pack, sizeof(pack));
  }
  *const_cast<WordOf<Stored, kWidth>*>(word_at<Stored, kWidth>(base, i)) = word;
}

__device__ __forceinline__ bool is_narrow(Dtype dtype) {
  return dtype == Dtype::kBFloat16 || dtype == Dtype::kFloat16;
}

// One element of any type. The read-only path (__ldg) is safe because no kernel writes gradients
// while it reads them: where one is standardized in place, each element is written after its last
// load.
template <class Real>
__device__ __forceinline__ Real load_gradient(const GradientRecord& gradient, std::int64_t i) {
  if constexpr (std::is_same_v<Real, double>) {
    return __ldg(static_cast<const double*>(gradient.data) + i);
  } else {
    const auto dtype = static_cast<Dtype>(gradient.dtype);
    if (dtype == Dtype::kFloat32) {
      return __ldg(static_cast<const float*>(gradient.data) + i);
    }
    return widen(__ldg(static_cast<const unsigned short*>(gradient.data) + i),
                 dtype == Dtype::kFloat16);
  }
}

// Returns whether an array's packs are aligned, for elements of this many bytes; true for null.
template <class Real>
__device__ __forceinline__ bool is_pack_aligned(const void* base, int element_bytes) {
  return reinterpret_cast<std::uintptr_t>(base) %
             static_cast<unsigned>(element_bytes * kPackWidth<Real>) ==
         0;
}

}  // namespace sing::cuda
