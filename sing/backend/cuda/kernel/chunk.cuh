// Which elements a chunk holds, and which row mean an element of it loses.
#pragma once

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

struct Range {
  std::int64_t begin, end;
};

// A copy of a record that no kernel writes, its words on their way together.
template <class Record>
__device__ __forceinline__ Record read_record(const Record* from) {
  static_assert(sizeof(Record) % 16 == 0);
  uint4 words[sizeof(Record) / 16];
#pragma unroll
  for (std::size_t k = 0; k < sizeof(Record) / 16; ++k) {
    words[k] = __ldg(reinterpret_cast<const uint4*>(from) + k);
  }
  Record record;
  memcpy(&record, words, sizeof(Record));
  return record;
}

// 64-bit division takes some hundred instructions; most operands are short.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) {
    return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  }
  return a / b;
}

__device__ __forceinline__ Range chunk_range(const TensorChunks& tensor, std::int64_t chunk) {
  if (tensor.chunks_per_row > 1) {
    const std::int64_t row = quotient(chunk, tensor.chunks_per_row);
    const std::int64_t part = chunk - row * tensor.chunks_per_row;
    const std::int64_t begin = row * tensor.span + part * tensor.chunk_elements;
    const std::int64_t end = (row + 1) * tensor.span;
    return {begin, begin + tensor.chunk_elements < end ? begin + tensor.chunk_elements : end};
  }
  const std::int64_t begin = chunk * tensor.chunk_elements;
  const std::int64_t end = begin + tensor.chunk_elements;
  return {begin, end < tensor.size ? end : tensor.size};
}

// Row means of any element of a tensor, whatever its layout; 0 where it loses none.
template <class Real>
class RowMeans {
 public:
  __device__ explicit RowMeans(const TensorRecord& tensor)
      : means_(tensor.centralizes ? static_cast<const Real*>(tensor.row_means) : nullptr),
        inner_(tensor.inner),
        rows_(tensor.rows) {}

  __device__ Real operator()(std::int64_t i) const {
    if (means_ == nullptr) {
      return Real(0);
    }
    const std::int64_t piece = quotient(i, inner_);
    return __ldcg(means_ + (piece - quotient(piece, rows_) * rows_));
  }

 private:
  const Real* means_;
  std::int64_t inner_, rows_;
};

// Row means of the packs of one tile, where no pack lies in two rows. A row at least as long as the
// tile leaves at most two means, which stay in registers. Read past the first-level cache, which
// may hold what a row's mean was before this launch wrote it.
template <class Real>
struct PackMeans {
  const Real* means;       // of the tile's first row; null: none
  std::uint32_t magic;     // ⌈2³² / row length⌉; 0: the tile has at most two rows
  std::uint32_t offset;    // of the tile in its first row
  std::uint32_t boundary;  // elements of the tile in its first row
  Real first, second;

  __device__ __forceinline__ Real operator()(std::uint32_t element_of_tile) const {
    if (magic == 0) {
      return element_of_tile < boundary ? first : second;
    }
    return __ldcg(means + __umulhi(offset + element_of_tile, magic));
  }
};

// Whether PackMeans can serve a tensor.
__device__ __forceinline__ bool packs_keep_to_rows(const TensorRows& tensor, int width) {
  return !tensor.centralizes | ((tensor.outer == 1) & (tensor.span % width == 0));
}

template <class Real>
__device__ __forceinline__ PackMeans<Real> pack_means(const TensorRows& tensor, Range range) {
  PackMeans<Real> out{nullptr, 0, 0, 0xffffffffU, Real(0), Real(0)};
  if (!tensor.centralizes) {
    return out;
  }
  const std::int64_t row = quotient(range.begin, tensor.span);
  const std::int64_t offset = range.begin - row * tensor.span;
  out.means = static_cast<const Real*>(tensor.row_means) + row;
  out.magic = tensor.row_magic;
  if (out.magic != 0) {
    out.offset = static_cast<std::uint32_t>(offset);
    return out;
  }
  const std::int64_t left = tensor.span - offset;
  out.first = __ldcg(out.means);
  if (left < range.end - range.begin) {
    out.boundary = static_cast<std::uint32_t>(left);
    out.second = __ldcg(out.means + 1);
  }
  return out;
}

}  // namespace sing::cuda
