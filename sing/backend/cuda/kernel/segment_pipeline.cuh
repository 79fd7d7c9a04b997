// Prefetching for the measure pass: the rows of a chunk, in segments.
#pragma once

#include "sing/backend/cuda/kernel/element_io.cuh"
#include "sing/backend/cuda/kernel/staging.cuh"

namespace sing::cuda {

// A segment is the part of a row that a warp holds in registers at once: this many loads per lane,
// or this many elements.
template <class Loader>
inline constexpr int kSegmentLoads = Loader::kWidth == 1 ? 16 : 4;
template <class Loader>
inline constexpr int kSegmentElements = 32 * kSegmentLoads<Loader> * Loader::kWidth;
// Elements per lane of a short row. Rows that need at most 16 lanes share a warp.
inline constexpr int kShortLaneElements = 4;

// Loads whole packs of a chunk's gradient; `first` is the chunk's first element, aligned to a pack.
template <class Real, class Stored>
struct PackLoader {
  static constexpr int kWidth = kPackWidth<Real>;
  using Loaded = WordOf<Stored, kWidth>;

  const Stored* first;
  bool is_half;
  CachePolicy policy;

  __device__ __forceinline__ const Loaded* at(int offset) const {
    return reinterpret_cast<const Loaded*>(first + offset);
  }
  __device__ __forceinline__ Loaded load(int offset) const { return __ldg(at(offset)); }
  __device__ __forceinline__ Pack<Real, kWidth> unpack(Loaded loaded) const {
    return sing::cuda::unpack<Real, Stored, kWidth>(loaded, is_half);
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

// The rows of a chunk. If `means` is null, the chunk is a part of one row and its mean is returned
// instead of stored.
template <class Real>
struct ChunkRows {
  int rows, length;
  Real* means;
};

// Sums of a row about a pivot near its mean, over the elements of one lane or, after a warp sum, of
// all lanes.
template <class Real>
struct RowSums {
  Real pivot, residuals, squares;
};

// A run of elements in the registers of `width` lanes. Each lane holds kLoads words, `width` packs
// apart. Words past the length are zero, never undefined: the assembler cannot tell that one
// condition guards both their write and their read, and would keep them alive through all other
// work.
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

  // The mean of the segment, in every lane.
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

// Short rows of a chunk, in order: each group of `width` lanes takes a whole row. Rows are
// prefetched kDepth takes ahead if they consist of whole packs, else not at all.
template <class Real, class Loader>
class ShortRowPipeline {
 public:
  static constexpr int kLoads = kShortLaneElements / Loader::kWidth;
  using Taken = Segment<Real, kLoads, Loader>;
  static constexpr bool kStaged = Loader::kWidth > 1;
  static constexpr int kDepth = kStaged ? kStagedWords / kLoads : 0;

  __device__ __forceinline__ ShortRowPipeline(const Loader& loader, const ChunkRows<Real>& chunk,
                                              int width)
      : loader_(loader), chunk_(chunk), width_(width) {
    if constexpr (kStaged) {
#pragma unroll 1
      for (int k = 0; k < kDepth; ++k) {
        prefetch(k * (32 / width_), k * kLoads);
      }
    }
  }

  // This lane's row among the 32 / width rows from `first` on; zeros past the last row. Prefetches
  // the rows kDepth takes later.
  __device__ __forceinline__ Taken take(int first) {
    Taken rows;
    if constexpr (kStaged) {
      Staging::wait<kDepth - 1>();
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const auto word = staging_.template take<typename Loader::Loaded>(word_ + k);
        rows.words[k] = exists(first, k) ? word : typename Loader::Loaded{};
      }
      prefetch(first + kDepth * (32 / width_), word_);
      word_ = word_ == (kDepth - 1) * kLoads ? 0 : word_ + kLoads;
    } else {
      const int row = first + lane_id() / width_;
      rows.load(loader_, row * chunk_.length, row < chunk_.rows ? chunk_.length : 0,
                lane_id() % width_, width_);
    }
    return rows;
  }

 private:
  // Offset in its row of this lane's k-th pack.
  __device__ __forceinline__ int offset_in_row(int k) const {
    return (k * width_ + lane_id() % width_) * Loader::kWidth;
  }
  __device__ __forceinline__ bool exists(int first, int k) const {
    return first + lane_id() / width_ < chunk_.rows && offset_in_row(k) < chunk_.length;
  }
  __device__ __forceinline__ void prefetch(int first, int word) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (exists(first, k)) {
        const int row = first + lane_id() / width_;
        staging_.copy(word + k, loader_.at(row * chunk_.length + offset_in_row(k)), loader_.policy);
      }
    }
    Staging::commit();
  }

  Loader loader_;
  ChunkRows<Real> chunk_;
  Staging staging_;
  int width_;
  int word_ = 0;  // staged word that is taken next
};

// The segments of a chunk's long rows, in order. Segments of whole packs are prefetched through
// shared memory, kDepth of them; others one ahead, into registers.
template <class Real, class Loader>
class SegmentPipeline {
 public:
  static constexpr int kLoads = kSegmentLoads<Loader>;
  using Taken = Segment<Real, kLoads, Loader>;
  static constexpr bool kStaged = Loader::kWidth > 1;
  static constexpr int kDepth = kStaged ? kStagedWords / kLoads : 1;

  __device__ __forceinline__ SegmentPipeline(const Loader& loader, const ChunkRows<Real>& chunk)
      : loader_(loader), length_(chunk.length), rows_(chunk.rows), left_(chunk.length) {
    // Unrolled code is larger and no faster.
#pragma unroll 1
    for (int k = 0; k < kDepth; ++k) {
      prefetch(k * kLoads);
    }
  }

  // The next segment, which has this length. Call prefetch_next() when it has been used.
  __device__ __forceinline__ Taken take(int length) {
    if constexpr (!kStaged) {
      return next_;
    } else {
      const int lane = lane_id();
      Taken segment;
      Staging::wait<kDepth - 1>();
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const auto word = staging_.template take<typename Loader::Loaded>(word_ + k);
        segment.words[k] =
            (k * 32 + lane) * Loader::kWidth < length ? word : typename Loader::Loaded{};
      }
      return segment;
    }
  }

  __device__ __forceinline__ void prefetch_next() {
    prefetch(word_);
    word_ = word_ == (kDepth - 1) * kLoads ? 0 : word_ + kLoads;
  }

 private:
  __device__ __forceinline__ void prefetch(int word) {
    if (rows_ > 0) {
      const int count = min(kSegmentElements<Loader>, left_);
      if constexpr (kStaged) {
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          const int at = (k * 32 + lane_id()) * Loader::kWidth;
          if (at < count) {
            staging_.copy(word + k, loader_.at(offset_ + at), loader_.policy);
          }
        }
      } else {
        next_.load(loader_, offset_, count, lane_id(), 32);
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
  Taken next_;       // the prefetched segment where it is not staged
  int length_;       // row length
  int rows_, left_;  // rows, and elements of the first of them, that are not prefetched yet
  int offset_ = 0;   // where the segment that is prefetched next begins in the chunk
  int word_ = 0;     // staged word that is taken next
};

}  // namespace sing::cuda
