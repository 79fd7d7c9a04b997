// Sums the rows of a matrix in two passes: first parts of the rows, then the parts.
#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kTile = 32;

// One block sums 32 columns; its 32 lines of threads share the rows.
__global__ void sum_rows(const float* partial, std::int64_t rows, std::int64_t columns,
                         float* sums) {
  __shared__ float line_sums[kTile][kTile + 1];
  const std::int64_t column = std::int64_t{blockIdx.x} * kTile + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    for (std::int64_t row = threadIdx.y; row < rows; row += kTile) {
      sum += partial[row * columns + column];
    }
  }
  line_sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  const float total = warp_sum(line_sums[threadIdx.x][threadIdx.y]);
  const std::int64_t summed = std::int64_t{blockIdx.x} * kTile + threadIdx.y;
  if (threadIdx.x == 0 && summed < columns) {
    sums[summed] = total;
  }
}

__global__ void sum_parts(ColumnSums at) {
  const std::int64_t column = 8 * threadIdx.x;
  float sums[8] = {};
  for (std::int64_t row = blockIdx.x; row < at.rows; row += gridDim.x) {
    float values[8];
    load<4>(at.values, row * at.columns + column, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sums[i] += values[i];
    }
  }
  float* const out = at.partial + blockIdx.x * at.columns + column;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[i] = sums[i];
  }
}

}  // namespace

void sum_partial_rows(const float* partial, std::int64_t rows, std::int64_t columns, float* sums,
                      Stream stream) {
  const auto blocks = static_cast<unsigned>((columns + kTile - 1) / kTile);
  sum_rows<<<blocks, dim3(kTile, kTile), 0, static_cast<cudaStream_t>(stream)>>>(partial, rows,
                                                                                 columns, sums);
  check_launch("sum_rows");
}

void column_sums(const ColumnSums& at, Stream stream) {
  sum_parts<<<kPartialRows, static_cast<unsigned>(at.columns / 8), 0,
              static_cast<cudaStream_t>(stream)>>>(at);
  check_launch("sum_parts");
  sum_partial_rows(at.partial, kPartialRows, at.columns, at.sums, stream);
}

}  // namespace sing::lab::fused
