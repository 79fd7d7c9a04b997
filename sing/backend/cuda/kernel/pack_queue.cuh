// What an update reads of a tile: its arrays, and its packs on their way to the warp.
#pragma once

#include "sing/backend/cuda/kernel/element_io.cuh"
#include "sing/backend/cuda/kernel/staging.cuh"

namespace sing::cuda {

// Signed, so that a loop over none of them draws no warning.
template <class R>
inline constexpr int kElementSlots = static_cast<int>(kElementSlotCount<R>);

template <class T>
__device__ __forceinline__ T* array_from(void* base, std::int64_t first) {
  return base == nullptr ? nullptr : static_cast<T*>(base) + first;
}

// What every update of a tensor reads, from one of its elements on; null where it has none.
template <class R, class Real, class G, class P>
struct ChunkArrays {
  const G* gradient;
  P* parameter;
  Real* slots[kElementSlots<R> == 0 ? 1 : kElementSlots<R>];
  Real* master;
};

template <class R, class Real, class G, class P>
__device__ __forceinline__ ChunkArrays<R, Real, G, P> arrays_from(const TensorArrays& tensor,
                                                                  const GradientRecord& gradient,
                                                                  std::int64_t first) {
  ChunkArrays<R, Real, G, P> arrays{.gradient = static_cast<const G*>(gradient.data) + first,
                                    .parameter = static_cast<P*>(tensor.parameter) + first,
                                    .slots = {},
                                    .master = array_from<Real>(tensor.master, first)};
  for (int k = 0; k < kElementSlots<R>; ++k) {
    arrays.slots[k] = array_from<Real>(tensor.slots[k], first);
  }
  return arrays;
}

// Words of a pack of elements as loaded, so that all loads are in flight before the first is used.
template <class R, class Real, class G, class P, int kWidth>
struct LoadedPack {
  WordOf<G, kWidth> gradient;
  WordOf<P, kWidth> parameter;
  WordOf<Real, kWidth> master;
  WordOf<Real, kWidth> slow;
  WordOf<Real, kWidth> slots[kElementSlots<R> == 0 ? 1 : kElementSlots<R>];
};

// Words that a pack of the hot loop has on their way: gradient, parameter or master, slots.
template <class R>
inline constexpr int kPackWords = 2 + kElementSlots<R>;
template <class R>
inline constexpr int kPacksAhead = kStagedWords / kPackWords<R>;

// The packs of one tile on their way, kPacksAhead of them. Nothing here depends on what was
// measured, so that they set out before it is known.
template <class R, class Real, class G, class P>
class PackQueue {
 public:
  static constexpr int kWidth = kPackWidth<Real>;
  static constexpr int kStride = 32 * kWidth;  // from one pack of a lane to its next
  using Arrays = ChunkArrays<R, Real, G, P>;

  // `count`: elements of the tile, in whole packs.
  __device__ __forceinline__ PackQueue(const Arrays& arrays, int count)
      : next_(warp_team().rank * kWidth), count_(count) {
    // As straight code no faster, and larger.
#pragma unroll 1
    for (int k = 0; k < kPacksAhead<R>; ++k) {
      ask(arrays, k * kPackWords<R>);
    }
  }

  // The next pack. `ask_ahead` must follow when it has been looked at.
  template <bool kPlain>
  __device__ __forceinline__ LoadedPack<R, Real, G, P, kWidth> take(const Arrays& arrays) const {
    Staging::wait<kPacksAhead<R> - 1>();
    LoadedPack<R, Real, G, P, kWidth> loaded{};
    loaded.gradient = staging_.take<WordOf<G, kWidth>>(slot_);
    if (kPlain || arrays.master == nullptr) {
      loaded.parameter = staging_.take<WordOf<P, kWidth>>(slot_ + 1);
    } else {
      loaded.master = staging_.take<WordOf<Real, kWidth>>(slot_ + 1);
    }
#pragma unroll
    for (int k = 0; k < kElementSlots<R>; ++k) {
      if (arrays.slots[k] != nullptr) {
        loaded.slots[k] = staging_.take<WordOf<Real, kWidth>>(slot_ + 2 + k);
      }
    }
    return loaded;
  }

  __device__ __forceinline__ void ask_ahead(const Arrays& arrays) {
    ask(arrays, slot_);
    slot_ = slot_ == (kPacksAhead<R> - 1) * kPackWords<R> ? 0 : slot_ + kPackWords<R>;
  }

 private:
  __device__ __forceinline__ void ask(const Arrays& arrays, int slot) {
    if (next_ < count_) {
      staging_.copy(slot, word_at<G, kWidth>(arrays.gradient, next_), usual_lines());
      if (arrays.master == nullptr) {
        staging_.copy(slot + 1, word_at<P, kWidth>(arrays.parameter, next_));
      } else {
        staging_.copy(slot + 1, word_at<Real, kWidth>(arrays.master, next_));
      }
#pragma unroll
      for (int k = 0; k < kElementSlots<R>; ++k) {
        if (arrays.slots[k] != nullptr) {
          staging_.copy(slot + 2 + k, word_at<Real, kWidth>(arrays.slots[k], next_));
        }
      }
    }
    next_ += kStride;
    Staging::commit();
  }

  Staging staging_;
  int next_, count_;  // element asked for next; all of them
  int slot_ = 0;
};

}  // namespace sing::cuda
