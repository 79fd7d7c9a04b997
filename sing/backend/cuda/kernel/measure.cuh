// The measure pass over one chunk: row means, and the sums that give the tensor's norm.
// Each gradient element is read once.
#pragma once

#include "sing/backend/cuda/kernel/row_means.cuh"
#include "sing/backend/cuda/kernel/segment_pipeline.cuh"

namespace sing::cuda {

// Mean of a row, or of a part of one, and the sum of squared distances from it.
struct RowMoments {
  double mean, centred_squares;
};

// The sums of one lane; the warp's are their sum. `mean` is the mean of a part of a split row, the
// same in all lanes.
struct LaneSums {
  double squares, centred_squares, mean;
};

// The pivot is the mean of the row's first n₁ of n elements, so n · off² ≤ (n / n₁) · centred
// squares and little cancels. The mean of the residuals corrects the mean: float sums of numbers
// with one sign are off by several ulp, which would look like signal in a constant row.
template <class Real>
__device__ __forceinline__ RowMoments row_moments(const RowSums<Real>& sums, int length) {
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
__device__ __forceinline__ double squares_about(const RowMoments& moments, double length,
                                                double at) {
  const double off = moments.mean - at;
  const double squares = moments.centred_squares + length * off * off;
  return squares < 0 ? 0 : squares;
}

// Adds a finished row to the sums and writes its mean.
template <class Real>
__device__ __forceinline__ void finish_row(const ChunkRows<Real>& chunk, int row,
                                           const RowMoments& moments, LaneSums& sums) {
  // The center of a row is its rounded mean, which apply subtracts. The mean of a part stays exact
  // until the row's mean is known.
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
  const int lane = lane_id() % width;
  const int row_of_lane = lane_id() / width;
  ShortRowPipeline<Real, Loader> pipeline(loader, chunk, width);
  LaneSums sums{};
  // All lanes stay in the loop because the shuffles involve the whole warp.
  for (int first = 0; first < chunk.rows; first += rows_at_once) {
    const int row = first + row_of_lane;
    const bool present = row < chunk.rows;
    const auto segment = pipeline.take(first);
    RowSums<Real> found{
        .pivot = segment.mean(loader, chunk.length, width), .residuals = 0, .squares = 0};
    segment.add_to(found, loader, present ? chunk.length : 0, lane, width);
    sum_over_lanes(found, width);
    if (present && lane == 0) {
      finish_row(chunk, row, row_moments(found, chunk.length), sums);
    }
  }
  return sums;
}

// Long rows, or one part of a row, in segments. Lane k finishes row k of every 32 rows: if all
// lanes finished every row in double precision, that would take longer than the loads.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_long_rows(const Loader& loader,
                                                      const ChunkRows<Real>& chunk) {
  constexpr int kMost = kSegmentElements<Loader>;
  const int lane = lane_id();
  const int length = chunk.length;
  SegmentPipeline<Real, Loader> pipeline(loader, chunk);
  LaneSums sums{};
  RowSums<Real> mine{};
  for (int row = 0; row < chunk.rows; ++row) {
    RowSums<Real> found{};
    for (int left = length; left > 0; left -= kMost) {
      const auto segment = pipeline.take(min(kMost, left));
      if (left == length) {
        found.pivot = segment.mean(loader, min(kMost, left), 32);
      }
      segment.add_to(found, loader, left, lane, 32);
      pipeline.prefetch_next();
    }
    sum_over_lanes(found, 32);
    if (row % 32 == lane) {
      mine = found;
    }
    if ((row % 32 == 31 || row + 1 == chunk.rows) && lane <= row % 32) {
      const RowMoments moments = row_moments(mine, length);
      sums.mean = moments.mean;
      finish_row(chunk, row - row % 32 + lane, moments, sums);
    }
  }
  sums.mean = __shfl_sync(kFullWarp, sums.mean, 0);
  return sums;
}

// Gradients that are not centralized.
template <class Real, class Loader>
__device__ __forceinline__ LaneSums measure_squares(const Loader& loader, int elements) {
  Real squares = 0;
#pragma unroll 4
  for (int i = lane_id() * Loader::kWidth; i < elements; i += 32 * Loader::kWidth) {
    const auto pack = loader.unpack(loader.load(i));
#pragma unroll
    for (int j = 0; j < Loader::kWidth; ++j) {
      squares += pack.value[j] * pack.value[j];
    }
  }
  return {static_cast<double>(squares), static_cast<double>(squares), 0.0};
}

// Strided rows; an earlier launch has written their means.
template <class Real>
__device__ __noinline__ LaneSums measure_strided(const TensorRecord& tensor,
                                                 const GradientRecord& gradient,
                                                 ElementRange range) {
  const RowMeans<Real> means(tensor);
  Real squares = 0;
  Real centred = 0;
  for (std::int64_t i = range.begin + lane_id(); i < range.end; i += 32) {
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
__device__ __noinline__ LaneSums measure_scalar(const GradientRecord& gradient, std::int64_t begin,
                                                const ChunkRows<Real>& chunk, bool centralizes) {
  return measure_loaded<Real>(ElementLoader<Real>{gradient, begin}, chunk, centralizes);
}

// Measures one chunk by one warp. G is the gradient's storage type; `tensor` and `gradient` are
// copies of its records. The rare cases are calls, so that they take no registers from the others.
template <class Real, class G>
__device__ __forceinline__ LaneSums measure_chunk(const StepArguments& step, const WorkItem& item,
                                                  const TensorChunks& tensor,
                                                  const GradientRecord& gradient) {
  const ElementRange range = chunk_range(tensor, item.index);
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
    chunk.length = static_cast<int>(tensor.row_length);
    chunk.rows = static_cast<int>(left < tensor.chunk_rows ? left : tensor.chunk_rows);
    chunk.means = static_cast<Real*>(tensor.row_means) + first;
  }
  const bool by_packs = is_pack_aligned<Real>(gradient.data, int{sizeof(G)}) &&
                        chunk.length % kPackWidth<Real> == 0 && range.begin % kPackWidth<Real> == 0;
  if (!by_packs) {
    return measure_scalar<Real>(step.gradients[item.tensor], range.begin, chunk,
                                tensor.centralizes);
  }
  const bool retained = tensor.size * static_cast<std::int64_t>(sizeof(G)) <= kMaxRetainedBytes;
  const PackLoader<Real, G> loader{static_cast<const G*>(gradient.data) + range.begin,
                                   static_cast<Dtype>(gradient.dtype) == Dtype::kFloat16,
                                   retained ? evict_last_partly() : evict_normal()};
  return measure_loaded<Real>(loader, chunk, tensor.centralizes);
}

}  // namespace sing::cuda
