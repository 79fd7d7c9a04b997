// The measure pass over one chunk: row means, and the sums that give the tensor's norm.
// Reads each gradient element once.
#pragma once

#include "sing/backend/cuda/kernel/chunk.cuh"
#include "sing/backend/cuda/kernel/segment_queue.cuh"

namespace sing::cuda {

// Mean of a run of elements and the sum of squared distances from it.
struct Moments {
  double mean, centred_squares;
};

// What a lane found; summed over the warp afterwards. `mean` is that of a part of a split row,
// known to all lanes.
struct LaneSums {
  double squares, centred_squares, mean;
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

// Σ(g − at)² from the moments about the mean, never below 0.
__device__ __forceinline__ double squares_about(const Moments& moments, double length, double at) {
  const double off = moments.mean - at;
  const double squares = moments.centred_squares + length * off * off;
  return squares < 0 ? 0 : squares;
}

// Adds a row's share to the sums and writes its mean.
template <class Real>
__device__ __forceinline__ void close_row(const ChunkRows<Real>& chunk, int row,
                                          const Moments& moments, LaneSums& sums) {
  // A part's mean stays exact until the row's is known; a row's is what apply will subtract.
  const double centre =
      chunk.means == nullptr ? moments.mean : static_cast<double>(static_cast<Real>(moments.mean));
  sums.centred_squares += squares_about(moments, chunk.length, centre);
  sums.squares += squares_about(moments, chunk.length, 0.0);
  if (chunk.means != nullptr) {
    chunk.means[row] = static_cast<Real>(centre);
  }
}

template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_short_rows(const Loader& loader,
                                                       const ChunkRows<Real>& chunk, int width) {
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
                                                 const GradientRecord& gradient, Range range) {
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
                                                   const ChunkRows<Real>& chunk, bool centralizes) {
  return centralizes ? measure_rows<Real>(loader, chunk)
                     : measure_squares<Real>(loader, chunk.rows * chunk.length);
}

template <class Real>
__device__ __noinline__ LaneSums measure_singly(const GradientRecord& gradient, std::int64_t begin,
                                                const ChunkRows<Real>& chunk, bool centralizes) {
  return measure_loaded<Real>(ElementLoader<Real>{gradient, begin}, chunk, centralizes);
}

// One chunk by one warp. G: how the gradient is stored; `tensor`, `gradient`: what was read of its
// records. What is rare is a call, so that it takes no registers from the rest.
template <class Real, class G>
__device__ __forceinline__ LaneSums measure_chunk(const StepArguments& step, const WorkItem& item,
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
    return measure_singly<Real>(step.gradients[item.tensor], range.begin, chunk,
                                tensor.centralizes);
  }
  const bool held = tensor.size * static_cast<std::int64_t>(sizeof(G)) <= kMostHeldBytes;
  const PackLoader<Real, G> loader{static_cast<const G*>(gradient.data) + range.begin,
                                   static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16,
                                   held ? partly_held_lines() : usual_lines()};
  return measure_loaded<Real>(loader, chunk, tensor.centralizes);
}

}  // namespace sing::cuda
