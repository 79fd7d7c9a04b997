// Computes dropout, residual sum and LayerNorm in one pass over memory, and their gradients in
// another. Each warp processes one row at a time; each lane holds kPacks packs of four adjacent
// columns.
#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kWarps = 8;
constexpr int kPackColumns = 4 * kWarp;  // columns covered by one pack in each lane

__device__ std::int64_t column_of(int pack) {
  return 4 * (pack * kWarp + static_cast<std::int64_t>(threadIdx.x));
}

template <int kPacks>
__global__ void __launch_bounds__(kWarps* kWarp) forward(AddNorm at) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.y;
  if (row >= at.rows) {
    return;
  }
  const std::int64_t begin = row * at.width;
  const std::int64_t x_begin = row % at.x_rows * at.width;
  float value[kPacks][4];
  float total = 0;
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const std::int64_t column = column_of(pack);
    float branch[4], bias[4];
    if (at.x != nullptr) {
      load(at.x, x_begin + column, value[pack]);
    } else {
      load<2>(at.half_x, x_begin + column, value[pack]);
    }
    load<2>(at.branch, begin + column, branch);
    load(at.bias, column, bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      branch[i] += bias[i];
    }
    drop(at.keep, begin + column, at.keep_factor, branch);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      value[pack][i] += branch[i];
      total += value[pack][i];
    }
    store(at.sum, begin + column, value[pack]);
  }
  const float mean = warp_sum(total) / static_cast<float>(at.width);
  float squares = 0;
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      squares += (value[pack][i] - mean) * (value[pack][i] - mean);
    }
  }
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(at.width) + at.epsilon);
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const std::int64_t column = column_of(pack);
    float gain[4], shift[4], normalized[4];
    load(at.gain, column, gain);
    load(at.shift, column, shift);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      normalized[i] = (value[pack][i] - mean) * inverse * gain[i] + shift[i];
    }
    store<2>(at.normalized, begin + column, normalized);
  }
  if (threadIdx.x == 0) {
    at.mean[row] = mean;
    at.inverse_deviation[row] = inverse;
  }
}

// Sums of one lane over the rows of its warp: gradients of gain, shift and bias.
template <int kPacks>
struct ColumnGradients {
  float value[3][kPacks][4] = {};
};

template <int kPacks>
__device__ void row_gradient(const AddNormGradient& at, std::int64_t row,
                             ColumnGradients<kPacks>& columns) {
  const std::int64_t begin = row * at.width;
  const float mean = at.mean[row];
  const float inverse = at.inverse_deviation[row];
  float scaled[kPacks][4];  // x̂
  float inner[kPacks][4];   // gradient of x̂
  float inner_sum = 0, product_sum = 0;
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const std::int64_t column = column_of(pack);
    float gradient[4], gain[4];
    load(at.sum, begin + column, scaled[pack]);
    load<2>(at.normalized_gradient, begin + column, gradient);
    load(at.gain, column, gain);
    if (at.second_normalized_gradient != nullptr) {
      float second[4];
      load<2>(at.second_normalized_gradient, begin + column, second);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        gradient[i] += second[i];
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scaled[pack][i] = (scaled[pack][i] - mean) * inverse;
      inner[pack][i] = gradient[i] * gain[i];
      inner_sum += inner[pack][i];
      product_sum += inner[pack][i] * scaled[pack][i];
      columns.value[0][pack][i] += gradient[i] * scaled[pack][i];
      columns.value[1][pack][i] += gradient[i];
    }
  }
  const float inner_mean = warp_sum(inner_sum) / static_cast<float>(at.width);
  const float product_mean = warp_sum(product_sum) / static_cast<float>(at.width);
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const std::int64_t column = column_of(pack);
    float out[4] = {};
    if (at.sum_gradient != nullptr) {
      load(at.sum_gradient, begin + column, out);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] += inverse * (inner[pack][i] - inner_mean - scaled[pack][i] * product_mean);
    }
    if (at.x_gradient != nullptr) {
      store(at.x_gradient, begin + column, out);
    } else if (at.half_x_gradient != nullptr) {
      store<2>(at.half_x_gradient, begin + column, out);
    }
    drop(at.keep, begin + column, at.keep_factor, out);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      columns.value[2][pack][i] += out[i];
    }
    store<2>(at.branch_gradient, begin + column, out);
  }
}

template <int kPacks>
__global__ void __launch_bounds__(kWarps* kWarp) backward(AddNormGradient at) {
  __shared__ float of_warps[kWarps][kPacks * kPackColumns];
  ColumnGradients<kPacks> columns;
  const std::int64_t stride = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.y; row < at.rows;
       row += stride) {
    row_gradient<kPacks>(at, row, columns);
  }
  const unsigned thread = threadIdx.y * kWarp + threadIdx.x;
#pragma unroll
  for (int kind = 0; kind < 3; ++kind) {
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      store(of_warps[threadIdx.y], column_of(pack), columns.value[kind][pack]);
    }
    __syncthreads();
    for (unsigned column = thread; column < kPacks * kPackColumns; column += kWarps * kWarp) {
      float sum = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        sum += of_warps[warp][column];
      }
      at.partial[(std::int64_t{blockIdx.x} * 3 + kind) * at.width + column] = sum;
    }
    __syncthreads();
  }
}

// Calls visitor.template operator()<kPacks>() for the width.
template <class Visitor>
void for_width(std::int64_t width, const Visitor& visitor) {
  switch (width / kPackColumns) {
    case 1:
      return visitor.template operator()<1>();
    case 2:
      return visitor.template operator()<2>();
    case 3:
      return visitor.template operator()<3>();
    case 4:
      return visitor.template operator()<4>();
    case 5:
      return visitor.template operator()<5>();
    case 6:
      return visitor.template operator()<6>();
    case 7:
      return visitor.template operator()<7>();
    default:
      return visitor.template operator()<8>();
  }
}

}  // namespace

bool add_norm_supports(std::int64_t width) {
  return width > 0 && width % kPackColumns == 0 && width <= 8 * kPackColumns;
}

void add_norm(const AddNorm& at, Stream stream) {
  const auto blocks = static_cast<unsigned>((at.rows + kWarps - 1) / kWarps);
  for_width(at.width, [&]<int kPacks>() {
    forward<kPacks><<<blocks, dim3(kWarp, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(at);
  });
  check_launch("add_norm");
}

void add_norm_gradient(const AddNormGradient& at, Stream stream) {
  for_width(at.width, [&]<int kPacks>() {
    backward<kPacks>
        <<<kNormPartialRows, dim3(kWarp, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(at);
  });
  check_launch("add_norm_gradient");
  sum_partial_rows(at.partial, kNormPartialRows, 3 * at.width, at.column_gradients, stream);
}

}  // namespace sing::lab::fused
