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

inline constexpr int kLaneElements = static_cast<int>(kWarpElements) / 32;
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

// A run of elements in the registers of `width` lanes; kElements: how many a lane holds at most,
// its loads `width` packs apart. Words beyond the length are zero, never undefined: the assembler
// cannot tell that one condition guards write and read, and would keep them through all other work.
template <class Real, int kElements, class Loader>
struct Segment {
  static constexpr int kWidth = Loader::kWidth;
  static constexpr int kLoads = kElements / kWidth;
  typename Loader::Loaded words[kLoads];

  __device__ __forceinline__ void load(
      const Loader& loader, int offset, int length, int lane, int width) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int at = (k * width + lane) * kWidth;
      words[k] = at < length ? loader.load(offset + at) : typename Loader::Loaded{};
    }
  }

  // Known to all lanes. The mean is corrected by the mean of the residuals: float sums of
  // like-signed numbers are off by several ulp, enough to look like signal where a row is constant.
  __device__ __forceinline__ Moments moments(const Loader& loader,
                                             int length,
                                             int lane,
                                             int width) const {
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
    const Real share = Real(1) / static_cast<Real>(length);
    const Real centre = warp_sum(sum, width) * share;
    Real residuals = 0;
    Real squares = 0;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if ((k * width + lane) * kWidth < length) {
        const auto pack = loader.unpack(words[k]);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          const Real residual = pack.value[j] - centre;
          residuals += residual;
          squares += residual * residual;
        }
      }
    }
    const double off = static_cast<double>(warp_sum(residuals, width) * share);
    const double about_centre = static_cast<double>(warp_sum(squares, width));
    // No cancellation: `off` is a rounding error of `centre`.
    return {static_cast<double>(centre) + off, about_centre - off * off * length};
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

// Rows of a few elements: sub-warps of `width` lanes take whole rows.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_short_rows(const Loader& loader,
                                                       const ChunkRows<Real>& chunk,
                                                       int width) {
  const int rows_at_once = 32 / width;
  const int lane = warp_team().rank % width;
  const int row_of_lane = warp_team().rank / width;
  LaneSums sums{};
  // All lanes stay in the loop: the shuffles name the whole warp.
  for (int first = 0; first < chunk.rows; first += rows_at_once) {
    const int row = first + row_of_lane;
    const bool present = row < chunk.rows;
    Segment<Real, kShortLaneElements, Loader> segment;
    segment.load(loader, row * chunk.length, present ? chunk.length : 0, lane, width);
    const Moments moments = segment.moments(loader, present ? chunk.length : 0, lane, width);
    if (present && lane == 0) {
      close_row(chunk, row, moments, sums);
    }
  }
  return sums;
}

// Moments of two runs of elements together (Chan, Golub, LeVeque).
template <class Real>
__device__ __forceinline__ Moments
combine(const Moments& a, int count_a, const Moments& b, int count_b) {
  const auto share =
      static_cast<double>(static_cast<Real>(count_b) / static_cast<Real>(count_a + count_b));
  const double delta = b.mean - a.mean;
  return {a.mean + delta * share,
          a.centred_squares + b.centred_squares + delta * delta * (count_a * share)};
}

// Longer rows, or one part of a row, in segments; the next one is on its way while this one is
// looked at.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_long_rows(const Loader& loader,
                                                      const ChunkRows<Real>& chunk) {
  constexpr int kMost = static_cast<int>(kWarpElements);
  const int lane = warp_team().rank;
  const int length = chunk.length;
  const auto count_at = [&](int begin) { return min(kMost, length - begin); };
  Segment<Real, kLaneElements, Loader> segment;
  segment.load(loader, 0, count_at(0), lane, 32);
  LaneSums sums{};
  Moments moments{};
  for (int row = 0, begin = 0; row < chunk.rows;) {
    const Segment<Real, kLaneElements, Loader> current = segment;
    const int count = count_at(begin);
    const bool ends_row = begin + count == length;
    const int next_row = ends_row ? row + 1 : row;
    const int next_begin = ends_row ? 0 : begin + count;
    segment.load(loader,
                 next_row * length + next_begin,
                 next_row < chunk.rows ? count_at(next_begin) : 0,
                 lane,
                 32);
    const Moments found = current.moments(loader, count, lane, 32);
    moments = begin == 0 ? found : combine<Real>(moments, begin, found, count);
    if (ends_row) {
      sums.mean = moments.mean;
      if (lane == 0) {
        close_row(chunk, row, moments, sums);
      }
    }
    row = next_row;
    begin = next_begin;
  }
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
  const RowMeans<Real> means(tensor, true);
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

// One chunk by one warp. G: how the gradient is stored. What is rare is a call, so that it takes no
// registers from the rest.
template <class Real, class G>
__device__ __forceinline__ LaneSums measure_chunk(const TensorRecord& tensor,
                                                  const GradientRecord& gradient,
                                                  std::int64_t index,
                                                  bool centralizes) {
  const Range range = chunk_range(tensor, index);
  if (range.end == range.begin) {
    return {};
  }
  if (centralizes && tensor.outer > 1) {
    return measure_strided<Real>(tensor, gradient, range);
  }
  const auto elements = static_cast<int>(range.end - range.begin);
  ChunkRows<Real> chunk{.rows = 1, .length = elements, .means = nullptr};
  if (centralizes && tensor.chunks_per_row == 1) {
    chunk.length = static_cast<int>(tensor.span);
    chunk.rows = elements / chunk.length;
    chunk.means = static_cast<Real*>(tensor.row_means) + quotient(range.begin, tensor.span);
  }
  const bool by_packs = is_pack_aligned<Real>(gradient.data, int{sizeof(G)}) &&
                        chunk.length % kPackWidth<Real> == 0 && range.begin % kPackWidth<Real> == 0;
  if (!by_packs) {
    return measure_singly<Real>(gradient, range.begin, chunk, centralizes);
  }
  const PackLoader<Real, G> loader{static_cast<const G*>(gradient.data) + range.begin,
                                   static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16};
  return measure_loaded<Real>(loader, chunk, centralizes);
}

}  // namespace sing::cuda
