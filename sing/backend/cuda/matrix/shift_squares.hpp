// Multiples of the identity added to squares: what is no product in newton_schulz.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sing::cuda {

// to ← factor · from + shift · I, for `count` squares that lie one after the other. Float or
// double.
template <class Real>
void shift_squares(Real* to, const Real* from, std::int64_t side, std::int64_t count, Real factor,
                   Real shift, cudaStream_t stream);

}  // namespace sing::cuda
