// Adds multiples of the identity to square matrices, which newton_schulz.hpp needs besides
// products.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sing::cuda {

// to ← factor · from + shift · I, for `count` consecutive square matrices of float or double.
template <class Real>
void shift_squares(Real* to, const Real* from, std::int64_t side, std::int64_t count, Real factor,
                   Real shift, cudaStream_t stream);

}  // namespace sing::cuda
