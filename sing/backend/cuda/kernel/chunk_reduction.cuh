// Adds up the sums of a tensor's chunks: chunks to families, families to the tensor.
#pragma once

#include "sing/backend/cuda/kernel/global_memory.cuh"
#include "sing/backend/cuda/kernel/measure.cuh"

namespace sing::cuda {

__device__ __forceinline__ ChunkSums load_partial(const ChunkSums* partial) {
  return {__ldcg(&partial->squares), __ldcg(&partial->centred_squares), __ldcg(&partial->mean), 0};
}

// For rows that are split over chunks: the warp combines the parts of each row and writes the row's
// mean, which the fence orders before the tensor's result.
template <class Real>
__device__ __noinline__ LaneSums combine_split_rows(const TensorChunks& tensor,
                                                    const ChunkSums* partials) {
  const int lane = lane_id();
  LaneSums sums{};
  for (std::int64_t row = 0; row < tensor.rows; ++row) {
    const ChunkSums* parts = partials + row * tensor.chunks_per_row;
    const auto length_of = [&](std::int64_t part) {
      const std::int64_t left = tensor.row_length - part * tensor.chunk_elements;
      return static_cast<double>(left < tensor.chunk_elements ? left : tensor.chunk_elements);
    };
    double total = 0;
    for (std::int64_t part = lane; part < tensor.chunks_per_row; part += 32) {
      total += load_partial(parts + part).mean * length_of(part);
    }
    const Real mean = static_cast<Real>(warp_sum(total) / static_cast<double>(tensor.row_length));
    for (std::int64_t part = lane; part < tensor.chunks_per_row; part += 32) {
      const ChunkSums found = load_partial(parts + part);
      const RowMoments moments{found.mean, found.centred_squares};
      sums.centred_squares += squares_about(moments, length_of(part), static_cast<double>(mean));
      sums.squares += found.squares;
    }
    if (lane == 0) {
      static_cast<Real*>(tensor.row_means)[row] = mean;
    }
  }
  fence_acquire_release();
  return sums;
}

// Sums of `count` entries in a fixed order, the same in all lanes. Each lane has 16 loads in flight
// at a time: one load takes as long as 16, and the tensor's tiles wait for the sum.
__device__ __forceinline__ ChunkSums add_up(const ChunkSums* entries, std::int64_t count) {
  constexpr int kAtOnce = 16;
  ChunkSums sums{};
  for (std::int64_t first = lane_id(); first < count; first += 32 * kAtOnce) {
    double2 found[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t at = first + 32 * k;
      found[k] =
          at < count ? __ldcg(reinterpret_cast<const double2*>(entries + at)) : double2{0.0, 0.0};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      sums.squares += found[k].x;
      sums.centred_squares += found[k].y;
    }
  }
  return {warp_sum(sums.squares), warp_sum(sums.centred_squares), 0, 0};
}

// Hands in the sums of one chunk. Returns true, with the tensor's sums, in the warp that completes
// the tensor. A large tensor is added up in two levels, so that no warp adds up thousands of
// entries while the tiles wait.
template <class Real>
__device__ __forceinline__ bool complete_tensor(const StepArguments& step, std::int64_t index,
                                                const TensorChunks& tensor, std::int64_t chunk,
                                                ChunkSums& sums) {
  ChunkSums* partials = step.partials + tensor.first_partial;
  if (lane_id() == 0) {
    partials[chunk] = sums;
  }
  if (tensor.centralizes && tensor.outer == 1 && tensor.chunks_per_row > 1) {
    if (!warp_arrives_last(&step.tensor_done[index], tensor.chunks)) {
      return false;
    }
    const LaneSums found = combine_split_rows<Real>(step.tensors[index], partials);
    sums = {warp_sum(found.squares), warp_sum(found.centred_squares), 0, 0};
    return true;
  }
  const std::int64_t family = quotient(chunk, kFamilyChunks);
  const std::int64_t first = family * kFamilyChunks;
  const std::int64_t members =
      tensor.chunks - first < kFamilyChunks ? tensor.chunks - first : kFamilyChunks;
  if (!warp_arrives_last(&step.family_done[tensor.first_family + family], members)) {
    return false;
  }
  sums = add_up(partials + first, members);
  const std::int64_t families = quotient(tensor.chunks + kFamilyChunks - 1, kFamilyChunks);
  if (families == 1) {
    return true;
  }
  ChunkSums* family_sums = step.family_sums + tensor.first_family;
  if (lane_id() == 0) {
    family_sums[family] = sums;
  }
  if (!warp_arrives_last(&step.tensor_done[index], families)) {
    return false;
  }
  sums = add_up(family_sums, families);
  return true;
}

}  // namespace sing::cuda
