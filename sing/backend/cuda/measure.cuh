// The measure pass over one chunk: row means, and the sums that give the tensor's norm.
// Reads each gradient element once and keeps it in registers for the second look at it.
#pragma once

#include "sing/backend/cuda/chunk.cuh"
#include "sing/backend/cuda/element_io.cuh"
#include "sing/backend/cuda/team.cuh"

namespace sing::cuda {

// Mean of a run of elements and the sum of squared distances from it.
struct Moments {
  double mean, centred_squares;
};

// Segments of one chunk: rows above kWarpElements have at most two segments for as many elements.
inline constexpr int kMaxSegments = 2 * static_cast<int>(kMaxChunkElements / kWarpElements);

struct MeasureShared {
  Moments segments[kMaxSegments];
  double sums[2 * kMaxWarps];
};

inline constexpr int kLaneElements = static_cast<int>(kWarpElements) / 32;
// Rows of up to 16 lanes of this many elements share a warp.
inline constexpr int kShortLaneElements = 4;

// What a thread found; summed over the team afterwards. `mean` is that of a part of a split row,
// valid in the thread of rank 0.
struct ThreadSums {
  double squares, centred_squares, mean;
};

// Loads whole packs of a chunk's gradient, from element `begin` of an aligned array on.
template <class Real, class Storage>
struct PackLoader {
  static constexpr int kWidth = kPackWidth<Real>;
  using Loaded = WordOf<Storage, kWidth>;

  const Storage* first;
  bool is_half;

  __device__ __forceinline__ Loaded load(int offset) const {
    return __ldg(reinterpret_cast<const Loaded*>(first + offset));
  }
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

// Moments of `length` elements from `offset` on, found by `width` lanes and known to all of them.
// The mean is corrected by the mean of the residuals: float sums of like-signed numbers are off by
// several ulp, enough to look like signal where a row is constant.
// kElements: how many each lane holds at most; a lane's loads lie `width` packs apart.
template <class Real, int kElements, class Loader>
__device__ __forceinline__ Moments
segment_moments(const Loader& loader, int offset, int length, int lane, int width) {
  constexpr int kWidth = Loader::kWidth;
  constexpr int kLoads = kElements / kWidth;
  typename Loader::Loaded words[kLoads];
  const int first = lane * kWidth;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (k * width * kWidth + first < length) {
      words[k] = loader.load(offset + k * width * kWidth + first);
    }
  }
  Real sum = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (k * width * kWidth + first < length) {
      const auto pack = loader.unpack(words[k]);
      Real part = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        part += pack.value[j];
      }
      sum += part;
    }
  }
  const Real centre = warp_sum(sum, width) / static_cast<Real>(length);
  Real residuals = 0;
  Real squares = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (k * width * kWidth + first < length) {
      const auto pack = loader.unpack(words[k]);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const Real residual = pack.value[j] - centre;
        residuals += residual;
        squares += residual * residual;
      }
    }
  }
  const double off = static_cast<double>(warp_sum(residuals, width)) / static_cast<double>(length);
  const double about_centre = static_cast<double>(warp_sum(squares, width));
  // No cancellation: `off` is a rounding error of `centre`.
  return {static_cast<double>(centre) + off, about_centre - off * off * length};
}

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

// Rows that `width` lanes hold: sub-warps take whole rows.
template <class Real, int kElements, class Loader>
__device__ __forceinline__ ThreadSums
measure_short_rows(const Loader& loader, const ChunkRows<Real>& chunk, Team team, int width) {
  const int rows_a_warp = 32 / width;
  const int lane = team.lane() % width;
  ThreadSums sums{};
  // All lanes stay in the loop: the shuffles name the whole warp.
  for (int first = team.warp() * rows_a_warp; first < chunk.rows;
       first += team.warps() * rows_a_warp) {
    const int row = first + team.lane() / width;
    const bool present = row < chunk.rows;
    const Moments moments = segment_moments<Real, kElements>(
        loader, row * chunk.length, present ? chunk.length : 0, lane, width);
    if (present && lane == 0) {
      const Real mean = static_cast<Real>(moments.mean);
      chunk.means[row] = mean;
      sums.centred_squares += squares_about(moments, chunk.length, static_cast<double>(mean));
      sums.squares += squares_about(moments, chunk.length, 0.0);
    }
  }
  return sums;
}

// Rows longer than a warp holds, or one part of a row: warps take segments, then one thread a row
// combines them. Block teams only.
template <class Real, class Loader>
__device__ __forceinline__ ThreadSums measure_long_rows(const Loader& loader,
                                                        const ChunkRows<Real>& chunk,
                                                        MeasureShared& shared) {
  const Team team = block_team();
  const int length = chunk.length;
  const int count =
      (length + static_cast<int>(kWarpElements) - 1) / static_cast<int>(kWarpElements);
  const int segment = ((length + count - 1) / count + 3) / 4 * 4;
  for (int s = team.warp(); s < chunk.rows * count; s += team.warps()) {
    const int begin = s % count * segment;
    const Moments moments = segment_moments<Real, kLaneElements>(
        loader, s / count * length + begin, min(segment, length - begin), team.lane(), 32);
    if (team.lane() == 0) {
      shared.segments[s] = moments;
    }
  }
  __syncthreads();
  ThreadSums sums{};
  for (int row = team.rank; row < chunk.rows; row += team.size) {
    const auto length_of = [&](int s) {
      return static_cast<double>(min(segment, length - s * segment));
    };
    double mean = 0;
    for (int s = 0; s < count; ++s) {
      mean += shared.segments[row * count + s].mean * length_of(s);
    }
    mean /= length;
    // A part's mean stays exact until the row's is known; a row's is what apply will subtract.
    const double centre =
        chunk.means == nullptr ? mean : static_cast<double>(static_cast<Real>(mean));
    for (int s = 0; s < count; ++s) {
      const Moments& moments = shared.segments[row * count + s];
      sums.centred_squares += squares_about(moments, length_of(s), centre);
      sums.squares += squares_about(moments, length_of(s), 0.0);
    }
    sums.mean = mean;
    if (chunk.means != nullptr) {
      chunk.means[row] = static_cast<Real>(centre);
    }
  }
  __syncthreads();
  return sums;
}

// Gradients that lose no mean.
template <class Real, class Loader>
__device__ __forceinline__ ThreadSums measure_squares(const Loader& loader,
                                                      int elements,
                                                      Team team) {
  Real squares = 0;
#pragma unroll 4
  for (int i = team.rank * Loader::kWidth; i < elements; i += team.size * Loader::kWidth) {
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
__device__ __noinline__ ThreadSums measure_strided(const TensorRecord& tensor,
                                                   const GradientRecord& gradient,
                                                   Range range,
                                                   Team team) {
  const RowMeans<Real> means(tensor, true);
  Real squares = 0;
  Real centred = 0;
  for (std::int64_t i = range.begin + team.rank; i < range.end; i += team.size) {
    const Real value = load_gradient<Real>(gradient, i);
    const Real residual = value - means(i);
    squares += value * value;
    centred += residual * residual;
  }
  return {static_cast<double>(squares), static_cast<double>(centred), 0.0};
}

template <class Real, class Loader>
__device__ __forceinline__ ThreadSums
measure_rows(const Loader& loader, const ChunkRows<Real>& chunk, Team team, MeasureShared& shared) {
  if (chunk.length > kWarpElements || chunk.means == nullptr) {
    return measure_long_rows<Real>(loader, chunk, shared);
  }
  if (chunk.length > 16 * kShortLaneElements) {
    return measure_short_rows<Real, kLaneElements>(loader, chunk, team, 32);
  }
  int width = 1;
  while (width * kShortLaneElements < chunk.length) {
    width *= 2;
  }
  return measure_short_rows<Real, kShortLaneElements>(loader, chunk, team, width);
}

template <class Real, class Loader>
__device__ __noinline__ ThreadSums measure_loaded(const Loader& loader,
                                                  const ChunkRows<Real>& chunk,
                                                  bool centralizes,
                                                  Team team,
                                                  MeasureShared& shared) {
  const Loader own = loader;
  return centralizes ? measure_rows<Real>(own, chunk, team, shared)
                     : measure_squares<Real>(own, chunk.rows * chunk.length, team);
}

// Picks how the gradient is loaded.
template <class Real>
__device__ __forceinline__ ThreadSums measure_chunk(const TensorRecord& tensor,
                                                    const GradientRecord& gradient,
                                                    std::int64_t index,
                                                    bool centralizes,
                                                    Team team,
                                                    MeasureShared& shared) {
  const Range range = chunk_range(tensor, index);
  if (range.end == range.begin) {
    return {};
  }
  if (centralizes && tensor.outer > 1) {
    return measure_strided<Real>(tensor, gradient, range, team);
  }
  const auto elements = static_cast<int>(range.end - range.begin);
  ChunkRows<Real> chunk{.rows = 1, .length = elements, .means = nullptr};
  if (centralizes && tensor.chunks_per_row == 1) {
    chunk.length = static_cast<int>(tensor.span);
    chunk.rows = elements / chunk.length;
    chunk.means = static_cast<Real*>(tensor.row_means) + quotient(range.begin, tensor.span);
  }
  const auto dtype = static_cast<Dtype>(gradient.dtype);
  const int bytes = is_narrow(dtype) ? 2 : static_cast<int>(sizeof(Real));
  const bool by_packs = is_pack_aligned<Real>(gradient.data, bytes) &&
                        chunk.length % kPackWidth<Real> == 0 && range.begin % kPackWidth<Real> == 0;
  if (!by_packs) {
    return measure_loaded<Real>(
        ElementLoader<Real>{gradient, range.begin}, chunk, centralizes, team, shared);
  }
  if constexpr (std::is_same_v<Real, float>) {
    if (is_narrow(dtype)) {
      const PackLoader<Real, Sixteen> loader{
          static_cast<const Sixteen*>(gradient.data) + range.begin, dtype == Dtype::kFloat16};
      return measure_loaded<Real>(loader, chunk, centralizes, team, shared);
    }
  }
  const PackLoader<Real, Real> loader{static_cast<const Real*>(gradient.data) + range.begin, false};
  return measure_loaded<Real>(loader, chunk, centralizes, team, shared);
}

}  // namespace sing::cuda
