// Computes attention over 64 tokens with heads 64 wide: one block per head and example, with all
// data in shared memory and registers. The gradient recomputes the softmax from q and k, so that it
// needs neither the result nor the softmax's sums. Products use the m16n8k16 instruction of the
// tensor cores; warp w computes rows 16w … 16w+15.
#include <cuda_pipeline.h>

#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kSize = 64;    // number of tokens, and width of a head
constexpr int kStride = 72;  // elements per row in shared memory: avoids bank conflicts
constexpr int kWarpRows = 16;
constexpr int kTiles = kSize / 8;   // tiles of eight columns in a result
constexpr int kSteps = kSize / 16;  // steps of sixteen along the summed axis
constexpr int kThreads = 128;
constexpr float kScale = 0.125f;  // 1 / √64
constexpr float kLog2OfE = 1.44269504f;

using Bits = __nv_bfloat16;
__device__ const Bits* elements(const BFloat16* values) {
  return reinterpret_cast<const Bits*>(values);
}
__device__ Bits* elements(BFloat16* values) { return reinterpret_cast<Bits*>(values); }

struct alignas(16) Tile {
  Bits value[kSize][kStride];
};

// The 16 × 64 results of one warp, in the tensor cores' layout: [tile][row half · 2 + column].
using Accumulator = float[kTiles][4];
using LeftFragment = unsigned[4];  // 16 × 16

__device__ unsigned lane() { return threadIdx.x % kWarp; }
__device__ unsigned warp_row() { return threadIdx.x / kWarp * kWarpRows; }

template <bool kTransposed>
__device__ void load_matrices(const Bits* address, unsigned (&to)[4]) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(address));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
  }
}

__device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads rows of `tile`, or its columns with kTransposed, as the left factor.
template <bool kTransposed>
__device__ void load_left(const Tile& tile, unsigned row, int step, LeftFragment& to) {
  const unsigned matrix = lane() / 8;
  if constexpr (kTransposed) {
    load_matrices<true>(&tile.value[16 * step + lane() % 8 + matrix / 2 * 8][row + matrix % 2 * 8],
                        to);
  } else {
    load_matrices<false>(&tile.value[row + lane() % 16][16 * step + lane() / 16 * 8], to);
  }
}

enum class Right { kTileTransposed, kTile };

// c += left · tileᵀ or left · tile for one step of sixteen along the summed axis.
template <Right kRight>
__device__ void multiply_step(Accumulator& c, const LeftFragment& left, const Tile& tile,
                              int step) {
#pragma unroll
  for (int pair = 0; pair < kTiles / 2; ++pair) {
    unsigned right[4];
    if constexpr (kRight == Right::kTileTransposed) {
      load_matrices<false>(
          &tile.value[16 * pair + lane() % 8 + lane() / 16 * 8][16 * step + lane() / 8 % 2 * 8],
          right);
    } else {
      load_matrices<true>(&tile.value[16 * step + lane() % 16][16 * pair + lane() / 16 * 8], right);
    }
    multiply_add(c[2 * pair], left, right[0], right[1]);
    multiply_add(c[2 * pair + 1], left, right[2], right[3]);
  }
}

template <bool kLeftTransposed, Right kRight>
__device__ void multiply(Accumulator& c, const Tile& left, const Tile& right) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    LeftFragment fragment;
    load_left<kLeftTransposed>(left, warp_row(), step, fragment);
    multiply_step<kRight>(c, fragment, right, step);
  }
}

__device__ unsigned rounded_pair(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// c += values · tile, where `values` is a result of this warp.
__device__ void multiply_result(Accumulator& c, const Accumulator& values, const Tile& tile) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const float(&low)[4] = values[2 * step];
    const float(&high)[4] = values[2 * step + 1];
    const LeftFragment left = {rounded_pair(low[0], low[1]), rounded_pair(low[2], low[3]),
                               rounded_pair(high[0], high[1]), rounded_pair(high[2], high[3])};
    multiply_step<Right::kTile>(c, left, tile, step);
  }
}

// Reductions over the four lanes that share two rows of a result.
__device__ float row_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}
__device__ float row_maximum(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// Replaces scores by exp(scale · (score − row maximum)) and returns the rows' inverse sums.
__device__ void exponentials(Accumulator& scores, float (&inverse_sum)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = scores[0][2 * half];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      largest = fmaxf(largest, fmaxf(scores[tile][2 * half], scores[tile][2 * half + 1]));
    }
    largest = row_maximum(largest) * (kScale * kLog2OfE);
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        float& score = scores[tile][2 * half + column];
        score = exp2f(score * (kScale * kLog2OfE) - largest);
        sum += score;
      }
    }
    inverse_sum[half] = 1.0f / row_sum(sum);
  }
}

__device__ void to_shared(const Accumulator& values, Tile& tile) {
  const unsigned row = warp_row() + lane() / 4;
  const unsigned column = lane() % 4 * 2;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<unsigned*>(&tile.value[row + 8 * half][8 * t + column]) =
          rounded_pair(values[t][2 * half], values[t][2 * half + 1]);
    }
  }
}

// Starts copying 64 rows of 64 elements, `stride` elements apart, to shared memory.
__device__ void fetch(Tile& tile, const Bits* from, std::int64_t stride) {
  for (unsigned pack = threadIdx.x; pack < kSize * kSize / 8; pack += kThreads) {
    const unsigned row = pack / 8, column = pack % 8 * 8;
    __pipeline_memcpy_async(&tile.value[row][column], from + row * stride + column, 16);
  }
}

__device__ void fetch_wait() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

// Writes the sixteen rows of this warp.
__device__ void write_rows(const Tile& tile, Bits* to, std::int64_t stride) {
  __syncwarp();
#pragma unroll
  for (unsigned pack = lane(); pack < kWarpRows * kSize / 8; pack += kWarp) {
    const unsigned row = warp_row() + pack / 8, column = pack % 8 * 8;
    *reinterpret_cast<uint4*>(to + row * stride + column) =
        *reinterpret_cast<const uint4*>(&tile.value[row][column]);
  }
}

// Offset of this block's head in [batch, 64, parts, heads, 64].
__device__ std::int64_t head_offset(std::int64_t heads, std::int64_t parts) {
  return blockIdx.y * kSize * parts * heads * kSize + blockIdx.x * kSize;
}

__global__ void __launch_bounds__(kThreads) forward(ShortAttention at) {
  __shared__ Tile q, k, v;
  const std::int64_t width = at.heads * kSize;
  const Bits* const qkv = elements(at.qkv) + head_offset(at.heads, 3);
  fetch(q, qkv, 3 * width);
  fetch(k, qkv + width, 3 * width);
  fetch(v, qkv + 2 * width, 3 * width);
  fetch_wait();
  Accumulator scores = {};
  multiply<false, Right::kTileTransposed>(scores, q, k);
  float inverse_sum[2];
  exponentials(scores, inverse_sum);
  Accumulator out = {};
  multiply_result(out, scores, v);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[tile][i] *= inverse_sum[i / 2];
    }
  }
  // Other warps do not read these rows of q, so a warp barrier is enough.
  __syncwarp();
  to_shared(out, q);
  write_rows(q, elements(at.out) + head_offset(at.heads, 1), width);
}

struct GradientTiles {
  Tile q, k, v, out_gradient, probability, score_gradient;
};

// Computes the probabilities p and, from dp, the gradient p · (dp − Σ p·dp) / 8 of the scores.
// Writes both to shared memory, and the gradient also to dp.
__device__ void score_gradients(GradientTiles& s, Accumulator& p, Accumulator& dp) {
  float inverse_sum[2];
  exponentials(p, inverse_sum);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float product = 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        p[tile][i] *= inverse_sum[half];
        product += p[tile][i] * dp[tile][i];
      }
    }
    product = row_sum(product);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        dp[tile][i] = p[tile][i] * (dp[tile][i] - product) * kScale;
      }
    }
  }
  to_shared(p, s.probability);
  to_shared(dp, s.score_gradient);
}

__global__ void __launch_bounds__(kThreads) backward(ShortAttentionGradient at) {
  extern __shared__ uint4 memory[];
  GradientTiles& s = *reinterpret_cast<GradientTiles*>(memory);
  const std::int64_t width = at.heads * kSize;
  const Bits* const qkv = elements(at.qkv) + head_offset(at.heads, 3);
  Bits* const gradient = elements(at.qkv_gradient) + head_offset(at.heads, 3);
  fetch(s.q, qkv, 3 * width);
  fetch(s.k, qkv + width, 3 * width);
  fetch(s.v, qkv + 2 * width, 3 * width);
  fetch(s.out_gradient, elements(at.out_gradient) + head_offset(at.heads, 1), width);
  fetch_wait();
  Accumulator dq = {};
  {
    Accumulator p = {}, ds = {};
    multiply<false, Right::kTileTransposed>(p, s.q, s.k);
    multiply<false, Right::kTileTransposed>(ds, s.out_gradient, s.v);
    score_gradients(s, p, ds);
    multiply_result(dq, ds, s.k);
  }
  __syncthreads();
  Accumulator dk = {}, dv = {};
  multiply<true, Right::kTile>(dv, s.probability, s.out_gradient);
  multiply<true, Right::kTile>(dk, s.score_gradient, s.q);
  __syncthreads();
  to_shared(dq, s.q);
  to_shared(dk, s.k);
  to_shared(dv, s.v);
  write_rows(s.q, gradient, 3 * width);
  write_rows(s.k, gradient + width, 3 * width);
  write_rows(s.v, gradient + 2 * width, 3 * width);
}

dim3 one_block_a_head(std::int64_t heads, std::int64_t batch) {
  return dim3(static_cast<unsigned>(heads), static_cast<unsigned>(batch));
}

}  // namespace

void short_attention(const ShortAttention& at, Stream stream) {
  forward<<<one_block_a_head(at.heads, at.batch), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      at);
  check_launch("short_attention");
}

void short_attention_gradient(const ShortAttentionGradient& at, Stream stream) {
  constexpr int kBytes = sizeof(GradientTiles);
  check(cudaFuncSetAttribute(backward, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "short_attention_gradient");
  backward<<<one_block_a_head(at.heads, at.batch), kThreads, kBytes,
             static_cast<cudaStream_t>(stream)>>>(at);
  check_launch("short_attention_gradient");
}

}  // namespace sing::lab::fused
