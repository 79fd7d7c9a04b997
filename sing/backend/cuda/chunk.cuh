// Which elements a chunk holds, and which row mean an element of it loses.
#pragma once

#include "sing/backend/cuda/device_records.hpp"

namespace sing::cuda {

struct Range {
  std::int64_t begin, end;
};

__device__ __forceinline__ Range chunk_range(const TensorRecord& tensor, std::int64_t chunk) {
  if (tensor.chunks_per_row > 1) {
    const std::int64_t row = chunk / tensor.chunks_per_row;
    const std::int64_t part = chunk % tensor.chunks_per_row;
    const std::int64_t begin = row * tensor.span + part * tensor.chunk_elements;
    const std::int64_t end = (row + 1) * tensor.span;
    return {begin, begin + tensor.chunk_elements < end ? begin + tensor.chunk_elements : end};
  }
  const std::int64_t begin = chunk * tensor.chunk_elements;
  const std::int64_t end = begin + tensor.chunk_elements;
  return {begin, end < tensor.size ? end : tensor.size};
}

// 64-bit division takes some hundred instructions; most operands are short.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) {
    return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  }
  return a / b;
}

// Row means of any element of a tensor, whatever its layout; 0 where it loses none.
template <class Real>
class RowMeans {
 public:
  __device__ RowMeans(const TensorRecord& tensor, bool centralizes)
      : means_(centralizes ? static_cast<const Real*>(tensor.row_means) : nullptr),
        inner_(tensor.inner),
        rows_(tensor.rows) {}

  __device__ Real operator()(std::int64_t i) const {
    if (means_ == nullptr) {
      return Real(0);
    }
    const std::int64_t piece = quotient(i, inner_);
    return __ldca(means_ + (piece - quotient(piece, rows_) * rows_));
  }

 private:
  const Real* means_;
  std::int64_t inner_, rows_;
};

// Row means of whole packs of one chunk, where no pack lies in two rows.
template <class Real>
struct PackMeans {
  const Real* means;    // of the chunk's first row
  std::uint32_t magic;  // ⌈2³² / row length⌉; 0: the chunk has one mean

  __device__ __forceinline__ Real operator()(std::uint32_t element_of_chunk) const {
    return means == nullptr ? Real(0) : __ldca(means + __umulhi(element_of_chunk, magic));
  }
};

// Whether PackMeans can serve the chunk.
template <class Real>
__device__ __forceinline__ bool packs_keep_to_rows(const TensorRecord& tensor,
                                                   bool centralizes,
                                                   int width) {
  return !centralizes ||
         (tensor.outer == 1 && (tensor.chunks_per_row > 1 || tensor.span % width == 0));
}

template <class Real>
__device__ __forceinline__ PackMeans<Real> pack_means(const TensorRecord& tensor,
                                                      bool centralizes,
                                                      std::int64_t chunk,
                                                      Range range) {
  if (!centralizes) {
    return {nullptr, 0};
  }
  const Real* means = static_cast<const Real*>(tensor.row_means);
  if (tensor.chunks_per_row > 1) {
    return {means + quotient(chunk, tensor.chunks_per_row), 0};
  }
  return {means + quotient(range.begin, tensor.span), tensor.row_magic};
}

}  // namespace sing::cuda
