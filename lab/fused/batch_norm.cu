// Computes batch normalization with the sum and the ReLU that follow it, and their gradients, for
// matrices whose columns are the channels. Each thread handles eight columns; the lines of a block
// share the rows.
#include <algorithm>

#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kPack = 8;
constexpr int kThreads = 256;
constexpr int kMultiprocessors = 132;  // on an H100 or H200
constexpr int kUnrolled = 4;           // rows that a thread loads before it waits for the first

int packs_of(std::int64_t columns) { return static_cast<int>(columns / kPack); }
int lines_of(std::int64_t columns) { return std::max(1, kThreads / packs_of(columns)); }
dim3 block_of(std::int64_t columns) {
  return dim3(static_cast<unsigned>(packs_of(columns)), static_cast<unsigned>(lines_of(columns)));
}

// Calls visit(row) for every row of this thread's line, kUnrolled rows at a time.
template <class Visit>
__device__ void for_rows(std::int64_t rows, Visit visit) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.y;
#pragma unroll kUnrolled
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < rows;
       row += step) {
    visit(row);
  }
}

// Writes the block's sums of two values per column to its row of partial[·, 2 · columns].
__device__ void write_partial(const float (&first)[kPack], const float (&second)[kPack],
                              std::int64_t columns, float* partial) {
  extern __shared__ float lines[];  // [lines, 2 · columns]
  float* const line = lines + threadIdx.y * 2 * columns;
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    line[kPack * threadIdx.x + i] = first[i];
    line[columns + kPack * threadIdx.x + i] = second[i];
  }
  __syncthreads();
  const unsigned threads = blockDim.x * blockDim.y;
  for (unsigned at = threadIdx.y * blockDim.x + threadIdx.x; at < 2 * columns; at += threads) {
    float sum = 0;
    for (unsigned other = 0; other < blockDim.y; ++other) {
      sum += lines[other * 2 * columns + at];
    }
    partial[blockIdx.x * 2 * columns + at] = sum;
  }
}

// Computes Σ(x − k) and Σ(x − k)², where k is the first row, which avoids the cancellation of Σx².
__global__ void __launch_bounds__(kThreads) sum_parts(BatchNorm at) {
  const std::int64_t column = kPack * threadIdx.x;
  float origin[kPack], sums[kPack] = {}, squares[kPack] = {};
  load<kPack / 2>(at.x, column, origin);
  for_rows(at.rows, [&](std::int64_t row) {
    float x[kPack];
    load<kPack / 2>(at.x, row * at.columns + column, x);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float distance = x[i] - origin[i];
      sums[i] += distance;
      squares[i] += distance * distance;
    }
  });
  write_partial(sums, squares, at.columns, at.partial);
}

// Normalization of one column: x · factor + offset. The forward and backward passes compute it
// identically, so that they agree on which values ReLU passed.
struct Affine {
  float factor, offset;
};
__device__ Affine affine(float gain, float shift, float mean, float inverse_deviation) {
  const float factor = gain * inverse_deviation;
  return {factor, fmaf(-mean, factor, shift)};
}

// Computes the moments of the columns from their sums; one line of one block stores them.
__device__ void conclude(const BatchNorm& at, std::int64_t column, float (&mean)[kPack],
                         float (&inverse)[kPack]) {
  float origin[kPack], sums[kPack], squares[kPack];
  load<kPack / 2>(at.x, column, origin);
  load(at.sums, column, sums);
  load(at.sums + at.columns, column, squares);
  const auto count = static_cast<float>(at.rows);
  const bool keeps = blockIdx.x == 0 && threadIdx.y == 0;
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    const float distance = sums[i] / count;
    const float variance = fmaxf(squares[i] / count - distance * distance, 0.0f);
    mean[i] = origin[i] + distance;
    inverse[i] = rsqrtf(variance + at.epsilon);
    if (keeps) {
      at.mean[column + i] = mean[i];
      at.inverse_deviation[column + i] = inverse[i];
      float& running_mean = at.running_mean[column + i];
      float& running_variance = at.running_variance[column + i];
      running_mean += at.momentum * (mean[i] - running_mean);
      running_variance += at.momentum * (variance * (count / (count - 1)) - running_variance);
    }
  }
  if (keeps && threadIdx.x == 0) {
    ++*at.batches;
  }
}

template <bool kResidual, bool kRectify>
__global__ void __launch_bounds__(kThreads) normalize(BatchNorm at) {
  const std::int64_t column = kPack * threadIdx.x;
  float gain[kPack], shift[kPack], mean[kPack], inverse[kPack];
  load(at.gain, column, gain);
  load(at.shift, column, shift);
  conclude(at, column, mean, inverse);
  Affine line[kPack];
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    line[i] = affine(gain[i], shift[i], mean[i], inverse[i]);
  }
  for_rows(at.rows, [&](std::int64_t row) {
    float x[kPack], residual[kPack];
    load<kPack / 2>(at.x, row * at.columns + column, x);
    if constexpr (kResidual) {
      load<kPack / 2>(at.residual, row * at.columns + column, residual);
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      x[i] = fmaf(x[i], line[i].factor, line[i].offset);
      if constexpr (kResidual) {
        x[i] += residual[i];
      }
      if constexpr (kRectify) {
        x[i] = x[i] > 0 ? x[i] : 0;
      }
    }
    store<kPack / 2>(at.out, row * at.columns + column, x);
  });
}

// Computes the gradient before ReLU of eight columns of a row, and loads x.
struct InnerGradient {
  const BatchNormGradient& at;
  Affine line[kPack];

  __device__ void operator()(std::int64_t offset, float (&x)[kPack], float (&inner)[kPack]) const {
    load<kPack / 2>(at.x, offset, x);
    load<kPack / 2>(at.out_gradient, offset, inner);
    if (at.second_out_gradient != nullptr) {
      float second[kPack];
      load<kPack / 2>(at.second_out_gradient, offset, second);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        inner[i] += second[i];
      }
    }
    if (!at.rectify) {
      return;
    }
    float out[kPack];
    if (at.out != nullptr) {
      load<kPack / 2>(at.out, offset, out);
    } else {
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        out[i] = fmaf(x[i], line[i].factor, line[i].offset);
      }
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      inner[i] = out[i] > 0 ? inner[i] : 0;
    }
  }
};

struct ColumnMoments {
  float mean[kPack], inverse[kPack];
};

__device__ InnerGradient inner_gradient_of(const BatchNormGradient& at, std::int64_t column,
                                           ColumnMoments& moments) {
  InnerGradient inner{at, {}};
  float gain[kPack], shift[kPack];
  load(at.gain, column, gain);
  load(at.shift, column, shift);
  load(at.mean, column, moments.mean);
  load(at.inverse_deviation, column, moments.inverse);
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    inner.line[i] = affine(gain[i], shift[i], moments.mean[i], moments.inverse[i]);
  }
  return inner;
}

// Computes Σ inner and Σ inner · (x − mean) / deviation, the gradients of shift and gain.
__global__ void __launch_bounds__(kThreads) sum_gradient_parts(BatchNormGradient at) {
  const std::int64_t column = kPack * threadIdx.x;
  ColumnMoments moments;
  const InnerGradient inner_gradient = inner_gradient_of(at, column, moments);
  float sums[kPack] = {}, products[kPack] = {};
  for_rows(at.rows, [&](std::int64_t row) {
    const std::int64_t offset = row * at.columns + column;
    float x[kPack], inner[kPack];
    inner_gradient(offset, x, inner);
    if (at.inner_gradient != nullptr) {
      store<kPack / 2>(at.inner_gradient, offset, inner);
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      sums[i] += inner[i];
      products[i] += inner[i] * (x[i] - moments.mean[i]);
    }
  });
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    products[i] *= moments.inverse[i];
  }
  write_partial(sums, products, at.columns, at.partial);
}

template <bool kInnerIsStored>
__global__ void __launch_bounds__(kThreads) differentiate(BatchNormGradient at) {
  const std::int64_t column = kPack * threadIdx.x;
  ColumnMoments moments;
  const InnerGradient inner_gradient = inner_gradient_of(at, column, moments);
  float sums[kPack], products[kPack];
  load(at.column_gradients, column, sums);
  load(at.column_gradients + at.columns, column, products);
  const float share = 1.0f / static_cast<float>(at.rows);
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    sums[i] *= share;
    products[i] *= share * moments.inverse[i];
  }
  for_rows(at.rows, [&](std::int64_t row) {
    const std::int64_t offset = row * at.columns + column;
    float x[kPack], inner[kPack];
    if constexpr (kInnerIsStored) {
      load<kPack / 2>(at.x, offset, x);
      load<kPack / 2>(at.inner_gradient, offset, inner);
    } else {
      inner_gradient(offset, x, inner);
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float along = (x[i] - moments.mean[i]) * products[i];
      x[i] = inner_gradient.line[i].factor * (inner[i] - sums[i] - along);
    }
    store<kPack / 2>(at.x_gradient, offset, x);
  });
}

// Number of blocks for about kUnrolled rows per line, limited to those that run at once.
unsigned blocks_for(std::int64_t rows, std::int64_t columns) {
  const std::int64_t rows_of_a_block = std::int64_t{kUnrolled} * lines_of(columns);
  return static_cast<unsigned>(std::clamp<std::int64_t>(
      (rows + rows_of_a_block - 1) / rows_of_a_block, 1, 8 * kMultiprocessors));
}

std::size_t shared_bytes(std::int64_t columns) {
  return static_cast<std::size_t>(lines_of(columns) * 2 * columns) * sizeof(float);
}

}  // namespace

std::int64_t batch_norm_parts(std::int64_t elements) {
  constexpr std::int64_t kElements = 1 << 20;  // elements per additional block on a multiprocessor
  return kMultiprocessors * std::clamp<std::int64_t>(elements / kElements, 1, 4);
}

void batch_norm(const BatchNorm& at, Stream stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const dim3 block = block_of(at.columns);
  const auto parts = static_cast<unsigned>(batch_norm_parts(at.rows * at.columns));
  sum_parts<<<parts, block, shared_bytes(at.columns), cuda_stream>>>(at);
  check_launch("batch_norm sum_parts");
  sum_partial_rows(at.partial, parts, 2 * at.columns, at.sums, stream);
  const auto kernel = at.residual != nullptr
                          ? (at.rectify ? normalize<true, true> : normalize<true, false>)
                          : (at.rectify ? normalize<false, true> : normalize<false, false>);
  kernel<<<blocks_for(at.rows, at.columns), block, 0, cuda_stream>>>(at);
  check_launch("batch_norm normalize");
}

void batch_norm_gradient(const BatchNormGradient& at, Stream stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const dim3 block = block_of(at.columns);
  const auto parts = static_cast<unsigned>(batch_norm_parts(at.rows * at.columns));
  sum_gradient_parts<<<parts, block, shared_bytes(at.columns), cuda_stream>>>(at);
  check_launch("batch_norm sum_gradient_parts");
  sum_partial_rows(at.partial, parts, 2 * at.columns, at.column_gradients, stream);
  const auto kernel = at.inner_gradient != nullptr ? differentiate<true> : differentiate<false>;
  kernel<<<blocks_for(at.rows, at.columns), block, 0, cuda_stream>>>(at);
  check_launch("batch_norm differentiate");
}

}  // namespace sing::lab::fused
