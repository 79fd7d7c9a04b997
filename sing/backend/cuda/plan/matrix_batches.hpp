// Collects matrices that are made orthogonal together.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/newton_schulz.hpp"

namespace sing::cuda {

// The matrix products between the launch that writes a batch's matrices and the one that applies
// them.
struct MatrixLaunch {
  NewtonSchulz polynomial;
  Matrices shape;
};

// Matrices of one shape and polynomial, which share their matrix products.
struct MatrixBatch {
  MatrixLaunch launch;
  std::vector<std::uint32_t> positions;  // plan positions of their tensors
};

// Puts each matrix into the latest batch of its shape and polynomial, or into a new one if that
// batch would need more than `most_bytes`.
class MatrixBatcher {
 public:
  MatrixBatcher(std::vector<MatrixBatch>& batches, std::size_t element_bytes,
                std::size_t most_bytes)
      : batches_(batches), element_bytes_(element_bytes), most_bytes_(most_bytes) {}

  // Returns the first element of the tensor's matrix in its batch.
  std::int64_t add(std::uint32_t position, const TensorRecord& record,
                   const NewtonSchulz& polynomial);

  // Device memory for the largest batch; batches use it in turn.
  std::size_t bytes() const;

 private:
  std::size_t bytes_of(const Matrices& shape) const;
  bool has_room(Matrices shape) const;

  std::vector<MatrixBatch>& batches_;
  std::size_t element_bytes_, most_bytes_;
  // Index of the latest batch with these rows, columns and polynomial.
  std::map<std::tuple<std::int64_t, std::int64_t, NewtonSchulz>, std::size_t> latest_;
};

}  // namespace sing::cuda
