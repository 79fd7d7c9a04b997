// Finds the elements of a tensor that a chunk holds.
#pragma once

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

// A run of elements of one tensor, in memory order.
struct ElementRange {
  std::int64_t begin, end;
};

// 64-bit division takes about a hundred instructions; most operands fit into 32 bits.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) {
    return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  }
  return a / b;
}

__device__ __forceinline__ ElementRange chunk_range(const TensorChunks& tensor,
                                                    std::int64_t chunk) {
  if (tensor.chunks_per_row > 1) {
    const std::int64_t row = quotient(chunk, tensor.chunks_per_row);
    const std::int64_t part = chunk - row * tensor.chunks_per_row;
    const std::int64_t begin = row * tensor.row_length + part * tensor.chunk_elements;
    const std::int64_t end = (row + 1) * tensor.row_length;
    return {begin, begin + tensor.chunk_elements < end ? begin + tensor.chunk_elements : end};
  }
  const std::int64_t begin = chunk * tensor.chunk_elements;
  const std::int64_t end = begin + tensor.chunk_elements;
  return {begin, end < tensor.size ? end : tensor.size};
}

}  // namespace sing::cuda
