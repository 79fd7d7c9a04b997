// What measuring reads of a chunk: its rows in segments, on their way to the warp.
#pragma once

#include "sing/backend/cuda/kernel/element_io.cuh"
#include "sing/backend/cuda/kernel/staging.cuh"
#include "sing/backend/cuda/kernel/team.cuh"

namespace sing::cuda {

// Loads of a lane for one segment of a long row, and elements of a segment.
template <class Loader>
inline constexpr int kSegmentLoads = Loader::kWidth == 1 ? 16 : 4;
template <class Loader>
inline constexpr int kSegmentElements = 32 * kSegmentLoads<Loader> * Loader::kWidth;
// Rows of up to 16 lanes of this many elements share a warp.
inline constexpr int kShortLaneElements = 4;

// Loads whole packs of a chunk's gradient, from element `begin` of an aligned array on.
template <class Real, class Storage>
struct PackLoader {
  static constexpr int kWidth = kPackWidth<Real>;
  using Loaded = WordOf<Storage, kWidth>;

  const Storage* first;
  bool is_half;
  CachePolicy policy;

  __device__ __forceinline__ const Loaded* at(int offset) const {
    return reinterpret_cast<const Loaded*>(first + offset);
  }
  __device__ __forceinline__ Loaded load(int offset) const { return __ldg(at(offset)); }
  __device__ __forceinline__ Pack<Real, kWidth> unpack(Loaded loaded) const {
    return sing::cuda::unpack<Real, Storage, kWidth>(loaded, is_half);
  }
};

// Loads single elements of any type and alignment.
template <class Real>
struct ElementLoader {
  static constexpr int kWidth = 1;
  using Loaded = Real;

  GradientRecord gradient;
  std::int64_t begin;

  __device__ __forceinline__ Loaded load(int offset) const {
    return load_gradient<Real>(gradient, begin + offset);
  }
  __device__ __forceinline__ Pack<Real, 1> unpack(Loaded loaded) const { return {loaded}; }
};

// The rows of a chunk. Without `means` it is a part of one row, whose mean is returned instead.
template <class Real>
struct ChunkRows {
  int rows, length;
  Real* means;
};

// Sums of a row about a pivot near its mean: of what a lane has seen, or, summed over lanes, of
// all.
template <class Real>
struct RowSums {
  Real pivot, residuals, squares;
};

// A run of elements in the registers of `width` lanes, of which a lane holds kLoads words, `width`
// packs apart. Words beyond the length are zero, never undefined: the assembler cannot tell that
// one condition guards write and read, and would keep them through all other work.
template <class Real, int kLoads, class Loader>
struct Segment {
  static constexpr int kWidth = Loader::kWidth;
  typename Loader::Loaded words[kLoads];

  __device__ __forceinline__ void load(const Loader& loader, int offset, int length, int lane,
                                       int width) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int at = (k * width + lane) * kWidth;
      words[k] = at < length ? loader.load(offset + at) : typename Loader::Loaded{};
    }
  }

  // Known to all lanes.
  __device__ __forceinline__ Real mean(const Loader& loader, int length, int width) const {
    Real sum = 0;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const auto pack = loader.unpack(words[k]);
      Real part = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        part += pack.value[j];
      }
      sum += part;
    }
    return warp_sum(sum, width) * (Real(1) / static_cast<Real>(length));
  }

  __device__ __forceinline__ void add_to(RowSums<Real>& sums, const Loader& loader, int length,
                                         int lane, int width) const {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if ((k * width + lane) * kWidth < length) {
        const auto pack = loader.unpack(words[k]);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          const Real residual = pack.value[j] - sums.pivot;
          sums.residuals += residual;
          sums.squares += residual * residual;
        }
      }
    }
  }
};

// Rows of a few elements, in order, asked for ahead of time where whole packs allow it. Sub-warps
// of `width` lanes take whole rows.
template <class Real, class Loader>
class ShortRowQueue {
 public:
  static constexpr int kLoads = kShortLaneElements / Loader::kWidth;
  using Taken = Segment<Real, kLoads, Loader>;
  static constexpr bool kStaged = Loader::kWidth > 1;
  static constexpr int kAhead = kStaged ? kStagedWords / kLoads : 0;

  __device__ __forceinline__ ShortRowQueue(const Loader& loader, const ChunkRows<Real>& chunk,
                                           int width)
      : loader_(loader), chunk_(chunk), width_(width) {
    if constexpr (kStaged) {
#pragma unroll 1
      for (int k = 0; k < kAhead; ++k) {
        ask(k * (32 / width_), k * kLoads);
      }
    }
  }

  // The row of this lane among those from `first` on; empty behind the last. Asks for later ones.
  __device__ __forceinline__ Taken take(int first) {
    Taken rows;
    if constexpr (kStaged) {
      Staging::wait<kAhead - 1>();
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const auto word = staging_.template take<typename Loader::Loaded>(slot_ + k);
        rows.words[k] = is_there(first, k) ? word : typename Loader::Loaded{};
      }
      ask(first + kAhead * (32 / width_), slot_);
      slot_ = slot_ == (kAhead - 1) * kLoads ? 0 : slot_ + kLoads;
    } else {
      const int row = first + warp_team().rank / width_;
      rows.load(loader_, row * chunk_.length, row < chunk_.rows ? chunk_.length : 0,
                warp_team().rank % width_, width_);
    }
    return rows;
  }

 private:
  __device__ __forceinline__ int place(int k) const {
    return (k * width_ + warp_team().rank % width_) * Loader::kWidth;
  }
  __device__ __forceinline__ bool is_there(int first, int k) const {
    return first + warp_team().rank / width_ < chunk_.rows && place(k) < chunk_.length;
  }
  __device__ __forceinline__ void ask(int first, int slot) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (is_there(first, k)) {
        const int row = first + warp_team().rank / width_;
        staging_.copy(slot + k, loader_.at(row * chunk_.length + place(k)), loader_.policy);
      }
    }
    Staging::commit();
  }

  Loader loader_;
  ChunkRows<Real> chunk_;
  Staging staging_;
  int width_;
  int slot_ = 0;
};

// The segments of a chunk's rows, in order, asked for ahead of time: several where whole packs
// allow it, else one, in registers.
template <class Real, class Loader>
class SegmentQueue {
 public:
  static constexpr int kLoads = kSegmentLoads<Loader>;
  using Taken = Segment<Real, kLoads, Loader>;
  static constexpr bool kStaged = Loader::kWidth > 1;
  static constexpr int kAhead = kStaged ? kStagedWords / kLoads : 1;

  __device__ __forceinline__ SegmentQueue(const Loader& loader, const ChunkRows<Real>& chunk)
      : loader_(loader), length_(chunk.length), rows_(chunk.rows), left_(chunk.length) {
    // As straight code no faster, and larger.
#pragma unroll 1
    for (int k = 0; k < kAhead; ++k) {
      ask(k * kLoads);
    }
  }

  // The next segment, of this length. `ask_ahead` must follow when it has been looked at.
  __device__ __forceinline__ Taken take(int length) {
    if constexpr (!kStaged) {
      return next_;
    } else {
      const int lane = warp_team().rank;
      Taken segment;
      Staging::wait<kAhead - 1>();
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const auto word = staging_.template take<typename Loader::Loaded>(slot_ + k);
        segment.words[k] =
            (k * 32 + lane) * Loader::kWidth < length ? word : typename Loader::Loaded{};
      }
      return segment;
    }
  }

  __device__ __forceinline__ void ask_ahead() {
    ask(slot_);
    slot_ = slot_ == (kAhead - 1) * kLoads ? 0 : slot_ + kLoads;
  }

 private:
  __device__ __forceinline__ void ask(int slot) {
    if (rows_ > 0) {
      const int count = min(kSegmentElements<Loader>, left_);
      if constexpr (kStaged) {
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          const int at = (k * 32 + warp_team().rank) * Loader::kWidth;
          if (at < count) {
            staging_.copy(slot + k, loader_.at(offset_ + at), loader_.policy);
          }
        }
      } else {
        next_.load(loader_, offset_, count, warp_team().rank, 32);
      }
      offset_ += count;
      left_ -= count;
      if (left_ == 0) {
        left_ = length_;
        --rows_;
      }
    }
    Staging::commit();
  }

  Loader loader_;
  Staging staging_;
  Taken next_;                // where not staged
  int length_, rows_, left_;  // of a row; rows and elements of a row not asked for yet
  int offset_ = 0;            // in the chunk, of what comes next
  int slot_ = 0;
};

}  // namespace sing::cuda
