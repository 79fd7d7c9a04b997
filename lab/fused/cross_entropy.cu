// Computes the cross-entropy of rows of logits and, in their place, its gradient. A block keeps its
// row in shared memory, so that the logits are read once and written once.
#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kThreads = 512;
constexpr int kRowWarps = kThreads / kWarp;
constexpr int kColumns = 8;  // columns that a thread takes at a time
constexpr float kLog2E = 1.44269504f;

// Combines a value of each thread by `combine`, which does so for a warp; all threads get the
// result.
template <class Combine>
__device__ float of_block(float value, float identity, const Combine& combine) {
  __shared__ float of_warps[kRowWarps];
  value = combine(value);
  __syncthreads();  // until all threads have read the previous result
  if (threadIdx.x % kWarp == 0) {
    of_warps[threadIdx.x / kWarp] = value;
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  return combine(lane < kRowWarps ? of_warps[lane] : identity);
}

// Calls visit(column, values, word) for each word of the row and its values.
template <class Visit>
__device__ void for_words(const uint4* row, std::int64_t columns, const Visit& visit) {
#pragma unroll 4
  for (std::int64_t column = kColumns * threadIdx.x; column < columns;
       column += kColumns * kThreads) {
    float values[kColumns];
    const uint4 word = row[column / kColumns];
    const auto& pack = reinterpret_cast<const Pack<kColumns / 2>&>(word);
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      const float2 both = __bfloat1622float2(pack.pair[i]);
      values[2 * i] = both.x;
      values[2 * i + 1] = both.y;
    }
    visit(column, values, word);
  }
}

__global__ void __launch_bounds__(kThreads) differentiate(CrossEntropy at) {
  extern __shared__ uint4 kept[];
  const std::int64_t row = blockIdx.x;
  const std::int64_t begin = row * at.stride;
  auto* const logits = reinterpret_cast<uint4*>(at.logits) + begin / kColumns;
  const std::int64_t target = at.targets[row];
  if (target == at.ignored) {
    for (std::int64_t word = threadIdx.x; word * kColumns < at.columns; word += kThreads) {
      logits[word] = make_uint4(0, 0, 0, 0);
    }
    if (threadIdx.x == 0) {
      at.losses[row] = 0;
    }
    return;
  }
  float most = -INFINITY;
  for_words(logits, at.columns,
            [&](std::int64_t column, const float(&values)[kColumns], const uint4& word) {
              kept[column / kColumns] = word;
#pragma unroll
              for (int i = 0; i < kColumns; ++i) {
                most = column + i < at.columns ? fmaxf(most, values[i]) : most;
              }
            });
  most = of_block(most, -INFINITY, [](float value) { return warp_maximum(value); });
  float exponentials = 0, sum = 0;
  for_words(kept, at.columns,
            [&](std::int64_t column, const float(&values)[kColumns], const uint4& /*word*/) {
#pragma unroll
              for (int i = 0; i < kColumns; ++i) {
                if (column + i < at.columns) {
                  exponentials += exp2f((values[i] - most) * kLog2E);
                  sum += values[i];
                }
              }
            });
  const auto add = [](float value) { return warp_sum(value); };
  exponentials = of_block(exponentials, 0, add);
  sum = of_block(sum, 0, add);
  const float log_sum = most + logf(exponentials);
  const auto width = static_cast<float>(at.columns);
  if (threadIdx.x == 0) {
    const bool is_class = target >= 0 && target < at.columns;
    const float right =
        is_class ? __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(kept)[target]) : NAN;
    at.losses[row] =
        (1 - at.smoothing) * (log_sum - right) + at.smoothing * (log_sum - sum / width);
  }
  const float factor = *at.factor;
  const float of_exponential = factor / exponentials;
  const float everywhere = factor * at.smoothing / width;
  const float at_target = factor * (1 - at.smoothing);
  for_words(kept, at.columns,
            [&](std::int64_t column, const float(&values)[kColumns], const uint4& /*word*/) {
              float gradient[kColumns];
#pragma unroll
              for (int i = 0; i < kColumns; ++i) {
                gradient[i] = of_exponential * exp2f((values[i] - most) * kLog2E) - everywhere;
                gradient[i] -= column + i == target ? at_target : 0;
                gradient[i] = column + i < at.columns ? gradient[i] : 0;
              }
              store<kColumns / 2>(at.logits, begin + column, gradient);
            });
}

__global__ void scale(BFloat16* values, std::int64_t rows, std::int64_t stride,
                      std::int64_t columns, const float* factor) {
  const float by = *factor;
  if (by == 1) {
    return;
  }
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t begin = row * stride;
    for_words(reinterpret_cast<const uint4*>(values) + begin / kColumns, columns,
              [&](std::int64_t column, float(&pack)[kColumns], const uint4& /*word*/) {
#pragma unroll
                for (int i = 0; i < kColumns; ++i) {
                  pack[i] *= by;
                }
                store<kColumns / 2>(values, begin + column, pack);
              });
  }
}

constexpr unsigned kScaleBlocks = 1056;  // eight per multiprocessor of an H100 or H200

}  // namespace

void cross_entropy(const CrossEntropy& at, Stream stream) {
  const std::int64_t words = (at.columns + kColumns - 1) / kColumns;
  const auto bytes = static_cast<std::size_t>(words) * sizeof(uint4);
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(differentiate),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory for cross_entropy");
  differentiate<<<static_cast<unsigned>(at.rows), kThreads, bytes,
                  static_cast<cudaStream_t>(stream)>>>(at);
  check_launch("cross_entropy");
}

void scale_rows(BFloat16* values, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                const float* factor, Stream stream) {
  scale<<<kScaleBlocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(values, rows, stride,
                                                                          columns, factor);
  check_launch("scale_rows");
}

}  // namespace sing::lab::fused
