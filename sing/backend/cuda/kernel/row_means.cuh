// The row mean that centralization subtracts from an element.
#pragma once

#include "sing/backend/cuda/kernel/element_range.cuh"

namespace sing::cuda {

// The row mean of any element of a tensor, in any layout; 0 if the tensor is not centralized.
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

// The row means of one tile's packs, where no pack crosses a row boundary. A tile no longer than a
// row has at most two means, which stay in registers. Means are read past L1, which may hold values
// from before this launch wrote them.
template <class Real>
struct PackMeans {
  const Real* means;  // begins with the tile's first row; null if the tensor is not centralized
  std::uint32_t reciprocal;  // ⌈2³² / row length⌉; 0: the tile has at most two rows
  std::uint32_t offset;      // first element of the tile, counted from the start of its row
  std::uint32_t boundary;    // number of the tile's elements in its first row
  Real first, second;

  __device__ __forceinline__ Real operator()(std::uint32_t element_of_tile) const {
    if (reciprocal == 0) {
      return element_of_tile < boundary ? first : second;
    }
    return __ldcg(means + __umulhi(offset + element_of_tile, reciprocal));
  }
};

// Returns whether PackMeans can serve a tensor.
__device__ __forceinline__ bool packs_keep_to_rows(const TensorRows& tensor, int width) {
  return !tensor.centralizes | ((tensor.outer == 1) & (tensor.row_length % width == 0));
}

template <class Real>
__device__ __forceinline__ PackMeans<Real> pack_means(const TensorRows& tensor,
                                                      ElementRange range) {
  PackMeans<Real> out{nullptr, 0, 0, 0xffffffffU, Real(0), Real(0)};
  if (!tensor.centralizes) {
    return out;
  }
  const std::int64_t row = quotient(range.begin, tensor.row_length);
  const std::int64_t offset = range.begin - row * tensor.row_length;
  out.means = static_cast<const Real*>(tensor.row_means) + row;
  out.reciprocal = tensor.row_reciprocal;
  if (out.reciprocal != 0) {
    out.offset = static_cast<std::uint32_t>(offset);
    return out;
  }
  const std::int64_t left = tensor.row_length - offset;
  out.first = __ldcg(out.means);
  if (left < range.end - range.begin) {
    out.boundary = static_cast<std::uint32_t>(left);
    out.second = __ldcg(out.means + 1);
  }
  return out;
}

}  // namespace sing::cuda
