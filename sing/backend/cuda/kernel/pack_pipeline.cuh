// Prefetching for the apply pass: the packs of a tile, from all arrays that every update reads.
#pragma once

#include "sing/backend/cuda/kernel/element_io.cuh"
#include "sing/backend/cuda/kernel/staging.cuh"

namespace sing::cuda {

// Signed, so that a loop over zero slots causes no warning.
template <class R>
inline constexpr int kElementSlots = static_cast<int>(kElementSlotCount<R>);

template <class T>
__device__ __forceinline__ T* array_from(void* base, std::int64_t first) {
  return base == nullptr ? nullptr : static_cast<T*>(base) + first;
}

// The arrays that every update of a tensor reads, from one of its elements on; null if absent.
template <class R, class Real, class G, class P>
struct UpdateArrays {
  const G* gradient;
  P* parameter;
  Real* slots[kElementSlots<R> == 0 ? 1 : kElementSlots<R>];
  Real* master;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ UpdateArrays<R, Real, G, P> arrays_from(const TensorArrays& tensor,
                                                                   const GradientRecord& gradient,
                                                                   std::int64_t first) {
  UpdateArrays<R, Real, G, P> arrays{.gradient = static_cast<const G*>(gradient.data) + first,
                                     .parameter = static_cast<P*>(tensor.parameter) + first,
                                     .slots = {},
                                     .master = array_from<Real>(tensor.master, first)};
  for (int k = 0; k < kElementSlots<R>; ++k) {
    arrays.slots[k] = array_from<Real>(tensor.slots[k], first);
  }
  return arrays;
}

// The raw words of a pack of elements.
template <class R, class Real, class G, class P, int kWidth>
struct LoadedPack {
  WordOf<G, kWidth> gradient;
  WordOf<P, kWidth> parameter;
  WordOf<Real, kWidth> master;
  WordOf<Real, kWidth> slow;
  WordOf<Real, kWidth> slots[kElementSlots<R> == 0 ? 1 : kElementSlots<R>];
};

// Staged words per pack: gradient, parameter or master, slots.
template <class R>
inline constexpr int kPackWords = 2 + kElementSlots<R>;
// Packs that each lane prefetches.
template <class R>
inline constexpr int kPackDepth = kStagedWords / kPackWords<R>;

// The packs of one tile, in order, kPackDepth of them in flight. None depends on the result of the
// measure pass, so that the first copies start before it is known.
template <class R, class Real, class G, class P>
class PackPipeline {
 public:
  static constexpr int kWidth = kPackWidth<Real>;
  static constexpr int kStride = 32 * kWidth;  // elements from one pack of a lane to its next
  using Arrays = UpdateArrays<R, Real, G, P>;

  // `count`: elements of the tile, a multiple of the pack width.
  __device__ __forceinline__ PackPipeline(const Arrays& arrays, int count)
      : next_(lane_id() * kWidth), count_(count) {
    // Unrolled code is larger and no faster.
#pragma unroll 1
    for (int k = 0; k < kPackDepth<R>; ++k) {
      prefetch(arrays, k * kPackWords<R>);
    }
  }

  // The next pack. Call prefetch_next() when it has been used.
  template <bool kPlain>
  __device__ __forceinline__ LoadedPack<R, Real, G, P, kWidth> take(const Arrays& arrays) const {
    Staging::wait<kPackDepth<R> - 1>();
    LoadedPack<R, Real, G, P, kWidth> loaded{};
    loaded.gradient = staging_.take<WordOf<G, kWidth>>(word_);
    if (kPlain || arrays.master == nullptr) {
      loaded.parameter = staging_.take<WordOf<P, kWidth>>(word_ + 1);
    } else {
      loaded.master = staging_.take<WordOf<Real, kWidth>>(word_ + 1);
    }
#pragma unroll
    for (int k = 0; k < kElementSlots<R>; ++k) {
      if (arrays.slots[k] != nullptr) {
        loaded.slots[k] = staging_.take<WordOf<Real, kWidth>>(word_ + 2 + k);
      }
    }
    return loaded;
  }

  __device__ __forceinline__ void prefetch_next(const Arrays& arrays) {
    prefetch(arrays, word_);
    word_ = word_ == (kPackDepth<R> - 1) * kPackWords<R> ? 0 : word_ + kPackWords<R>;
  }

 private:
  __device__ __forceinline__ void prefetch(const Arrays& arrays, int word) {
    if (next_ < count_) {
      staging_.copy(word, word_at<G, kWidth>(arrays.gradient, next_), evict_normal());
      if (arrays.master == nullptr) {
        staging_.copy(word + 1, word_at<P, kWidth>(arrays.parameter, next_));
      } else {
        staging_.copy(word + 1, word_at<Real, kWidth>(arrays.master, next_));
      }
#pragma unroll
      for (int k = 0; k < kElementSlots<R>; ++k) {
        if (arrays.slots[k] != nullptr) {
          staging_.copy(word + 2 + k, word_at<Real, kWidth>(arrays.slots[k], next_));
        }
      }
    }
    next_ += kStride;
    Staging::commit();
  }

  Staging staging_;
  int next_;      // first element of the pack that is prefetched next
  int count_;     // elements of the tile
  int word_ = 0;  // staged word that is taken next
};

}  // namespace sing::cuda
