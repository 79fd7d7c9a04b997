// Adds multiples of the identity to square matrices.
#include <algorithm>

#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/backend/cuda/matrix/shift_squares.hpp"

namespace sing::cuda {
namespace {

constexpr int kShiftThreads = 256;
constexpr int kShiftWarps = kShiftThreads / 32;

// Launch shape: one warp per row, up to 4096 blocks, then a stride. Moves 8 or 16 bytes per
// element.
template <class Real>
__global__ void shift_kernel(Real* to, const Real* from, std::int64_t side, std::int64_t rows,
                             Real factor, Real shift) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kShiftWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kShiftWarps + threadIdx.x / 32;
       row < rows; row += stride) {
    const std::int64_t diagonal = row % side;
    for (std::int64_t column = threadIdx.x % 32; column < side; column += 32) {
      const Real value = factor * from[row * side + column];
      to[row * side + column] = column == diagonal ? value + shift : value;
    }
  }
}

}  // namespace

template <class Real>
void shift_squares(Real* to, const Real* from, std::int64_t side, std::int64_t count, Real factor,
                   Real shift, cudaStream_t stream) {
  const std::int64_t rows = side * count;
  const auto blocks = static_cast<unsigned int>(
      std::min<std::int64_t>((rows + kShiftWarps - 1) / kShiftWarps, 4096));
  shift_kernel<<<blocks, kShiftThreads, 0, stream>>>(to, from, side, rows, factor, shift);
  check(cudaGetLastError(), "to launch a shift of squares");
}

template void shift_squares(float*, const float*, std::int64_t, std::int64_t, float, float,
                            cudaStream_t);
template void shift_squares(double*, const double*, std::int64_t, std::int64_t, double, double,
                            cudaStream_t);

}  // namespace sing::cuda
