// The measure pass over one chunk: row means, and the sums that give the tensor's norm.
// Reads each gradient element once.
#pragma once

#include "sing/backend/cuda/chunk.cuh"
#include "sing/backend/cuda/element_io.cuh"
#include "sing/backend/cuda/staging.cuh"
#include "sing/backend/cuda/team.cuh"

namespace sing::cuda {

// Mean of a run of elements and the sum of squared distances from it.
struct Moments {
  double mean, centred_squares;
};

// Loads of a lane for one segment of a long row, and elements of a segment.
template <class Loader>
inline constexpr int kSegmentLoads = Loader::kWidth == 1 ? 16 : 4;
template <class Loader>
inline constexpr int kSegmentElements = 32 * kSegmentLoads<Loader>* Loader::kWidth;
// Rows of up to 16 lanes of this many elements share a warp.
inline constexpr int kShortLaneElements = 4;

// What a lane found; summed over the warp afterwards. `mean` is that of a part of a split row,
// known to all lanes.
struct LaneSums {
  double squares, centred_squares, mean;
};

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

// Sums of a row about a pivot near its mean: of what a lane has seen, or, summed over lanes, of
// all.
template <class Real>
struct RowSums {
  Real pivot, residuals, squares;
};

// The pivot is the mean of a part of the row, n₁ of its n elements, or of all: then
// n · off² ≤ (n / n₁) · centred squares, so that little cancels. The mean is corrected by the mean
// of the residuals: float sums of like-signed numbers are off by several ulp, enough to look like
// signal where a row is constant.
template <class Real>
__device__ __forceinline__ Moments moments_of(const RowSums<Real>& sums, int length) {
  const double off = static_cast<double>(sums.residuals) / length;
  return {static_cast<double>(sums.pivot) + off,
          static_cast<double>(sums.squares) - off * off * length};
}

template <class Real>
__device__ __forceinline__ void sum_over_lanes(RowSums<Real>& sums, int width) {
  sums.residuals = warp_sum(sums.residuals, width);
  sums.squares = warp_sum(sums.squares, width);
}

// A run of elements in the registers of `width` lanes, of which a lane holds kLoads words, `width`
// packs apart. Words beyond the length are zero, never undefined: the assembler cannot tell that
// one condition guards write and read, and would keep them through all other work.
template <class Real, int kLoads, class Loader>
struct Segment {
  static constexpr int kWidth = Loader::kWidth;
  typename Loader::Loaded words[kLoads];

  __device__ __forceinline__ void load(
      const Loader& loader, int offset, int length, int lane, int width) {
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

  __device__ __forceinline__ void add_to(
      RowSums<Real>& sums, const Loader& loader, int length, int lane, int width) const {
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

// Σ(g − at)² from the moments about the mean, never below 0.
__device__ __forceinline__ double squares_about(const Moments& moments, double length, double at) {
  const double off = moments.mean - at;
  const double squares = moments.centred_squares + length * off * off;
  return squares < 0 ? 0 : squares;
}

// The rows of a chunk. Without `means` it is a part of one row, whose mean is returned instead.
template <class Real>
struct ChunkRows {
  int rows, length;
  Real* means;
};

// Adds a row's share to the sums and writes its mean.
template <class Real>
__device__ __forceinline__ void close_row(const ChunkRows<Real>& chunk,
                                          int row,
                                          const Moments& moments,
                                          LaneSums& sums) {
  // A part's mean stays exact until the row's is known; a row's is what apply will subtract.
  const double centre =
      chunk.means == nullptr ? moments.mean : static_cast<double>(static_cast<Real>(moments.mean));
  sums.centred_squares += squares_about(moments, chunk.length, centre);
  sums.squares += squares_about(moments, chunk.length, 0.0);
  if (chunk.means != nullptr) {
    chunk.means[row] = static_cast<Real>(centre);
  }
}

// Rows of a few elements, in order, asked for ahead of time where whole packs allow it. Sub-warps
// of `width` lanes take whole rows.
template <class Real, class Loader>
class ShortRowQueue {
 public:
  static constexpr int kLoads = kShortLaneElements / Loader::kWidth;
  using Taken = Segment<Real, kLoads, Loader>;
  static constexpr bool kStaged = Loader::kWidth > 1;
  static constexpr int kAhead = kStaged ? kStagedWords / kLoads : 0;

  __device__ __forceinline__ ShortRowQueue(const Loader& loader,
                                           const ChunkRows<Real>& chunk,
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
      rows.load(loader_,
                row * chunk_.length,
                row < chunk_.rows ? chunk_.length : 0,
                warp_team().rank % width_,
                width_);
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

template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_short_rows(const Loader& loader,
                                                       const ChunkRows<Real>& chunk,
                                                       int width) {
  const int rows_at_once = 32 / width;
  const int lane = warp_team().rank % width;
  const int row_of_lane = warp_team().rank / width;
  ShortRowQueue<Real, Loader> queue(loader, chunk, width);
  LaneSums sums{};
  // All lanes stay in the loop: the shuffles name the whole warp.
  for (int first = 0; first < chunk.rows; first += rows_at_once) {
    const int row = first + row_of_lane;
    const bool present = row < chunk.rows;
    const auto segment = queue.take(first);
    RowSums<Real> found{
        .pivot = segment.mean(loader, chunk.length, width), .residuals = 0, .squares = 0};
    segment.add_to(found, loader, present ? chunk.length : 0, lane, width);
    sum_over_lanes(found, width);
    if (present && lane == 0) {
      close_row(chunk, row, moments_of(found, chunk.length), sums);
    }
  }
  return sums;
}

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

// Longer rows, or one part of a row, in segments. Lane k closes row k of every 32: in double
// precision one after the other, by all lanes, rows would take longer than their loads.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_long_rows(const Loader& loader,
                                                      const ChunkRows<Real>& chunk) {
  constexpr int kMost = kSegmentElements<Loader>;
  const int lane = warp_team().rank;
  const int length = chunk.length;
  SegmentQueue<Real, Loader> queue(loader, chunk);
  LaneSums sums{};
  RowSums<Real> mine{};
  for (int row = 0; row < chunk.rows; ++row) {
    RowSums<Real> found{};
    for (int left = length; left > 0; left -= kMost) {
      const auto segment = queue.take(min(kMost, left));
      if (left == length) {
        found.pivot = segment.mean(loader, min(kMost, left), 32);
      }
      segment.add_to(found, loader, left, lane, 32);
      queue.ask_ahead();
    }
    sum_over_lanes(found, 32);
    if (row % 32 == lane) {
      mine = found;
    }
    if ((row % 32 == 31 || row + 1 == chunk.rows) && lane <= row % 32) {
      const Moments moments = moments_of(mine, length);
      sums.mean = moments.mean;
      close_row(chunk, row - row % 32 + lane, moments, sums);
    }
  }
  sums.mean = __shfl_sync(kFullWarp, sums.mean, 0);
  return sums;
}

// Gradients that lose no mean.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_squares(const Loader& loader, int elements) {
  Real squares = 0;
#pragma unroll 4
  for (int i = warp_team().rank * Loader::kWidth; i < elements; i += 32 * Loader::kWidth) {
    const auto pack = loader.unpack(loader.load(i));
#pragma unroll
    for (int j = 0; j < Loader::kWidth; ++j) {
      squares += pack.value[j] * pack.value[j];
    }
  }
  return {static_cast<double>(squares), static_cast<double>(squares), 0.0};
}

// Rows that are not contiguous; their means are known from an earlier launch.
template <class Real>
__device__ __noinline__ LaneSums measure_strided(const TensorRecord& tensor,
                                                 const GradientRecord& gradient,
                                                 Range range) {
  const RowMeans<Real> means(tensor);
  Real squares = 0;
  Real centred = 0;
  for (std::int64_t i = range.begin + warp_team().rank; i < range.end; i += 32) {
    const Real value = load_gradient<Real>(gradient, i);
    const Real residual = value - means(i);
    squares += value * value;
    centred += residual * residual;
  }
  return {static_cast<double>(squares), static_cast<double>(centred), 0.0};
}

template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_rows(const Loader& loader,
                                                 const ChunkRows<Real>& chunk) {
  if (chunk.length > 16 * kShortLaneElements || chunk.means == nullptr) {
    return measure_long_rows<Real>(loader, chunk);
  }
  int width = 1;
  while (width * kShortLaneElements < chunk.length) {
    width *= 2;
  }
  return measure_short_rows<Real>(loader, chunk, width);
}

template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_loaded(const Loader& loader,
                                                   const ChunkRows<Real>& chunk,
                                                   bool centralizes) {
  return centralizes ? measure_rows<Real>(loader, chunk)
                     : measure_squares<Real>(loader, chunk.rows * chunk.length);
}

template <class Real>
__device__ __noinline__ LaneSums measure_singly(const GradientRecord& gradient,
                                                std::int64_t begin,
                                                const ChunkRows<Real>& chunk,
                                                bool centralizes) {
  return measure_loaded<Real>(ElementLoader<Real>{gradient, begin}, chunk, centralizes);
}

// One chunk by one warp. G: how the gradient is stored; `tensor`, `gradient`: what was read of its
// records. What is rare is a call, so that it takes no registers from the rest.
template <class Real, class G>
__device__ __forceinline__ LaneSums measure_chunk(const StepArguments& step,
                                                  const WorkItem& item,
                                                  const TensorChunks& tensor,
                                                  const GradientRecord& gradient) {
  const Range range = chunk_range(tensor, item.index);
  if (range.end == range.begin) {
    return {};
  }
  if (tensor.centralizes && tensor.outer > 1) {
    return measure_strided<Real>(step.tensors[item.tensor], step.gradients[item.tensor], range);
  }
  const auto elements = static_cast<int>(range.end - range.begin);
  ChunkRows<Real> chunk{.rows = 1, .length = elements, .means = nullptr};
  if (tensor.centralizes && tensor.chunks_per_row == 1) {
    const std::int64_t first = item.index * tensor.chunk_rows;
    const std::int64_t left = tensor.rows - first;
    chunk.length = static_cast<int>(tensor.span);
    chunk.rows = static_cast<int>(left < tensor.chunk_rows ? left : tensor.chunk_rows);
    chunk.means = static_cast<Real*>(tensor.row_means) + first;
  }
  const bool by_packs = is_pack_aligned<Real>(gradient.data, int{sizeof(G)}) &&
                        chunk.length % kPackWidth<Real> == 0 && range.begin % kPackWidth<Real> == 0;
  if (!by_packs) {
    return measure_singly<Real>(
        step.gradients[item.tensor], range.begin, chunk, tensor.centralizes);
  }
  const bool held = tensor.size * static_cast<std::int64_t>(sizeof(G)) <= kMostHeldBytes;
  const PackLoader<Real, G> loader{static_cast<const G*>(gradient.data) + range.begin,
                                   static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16,
                                   held ? partly_held_lines() : usual_lines()};
  return measure_loaded<Real>(loader, chunk, tensor.centralizes);
}

}  // namespace sing::cuda
