// Declares the launches of the fused CUDA kernels of a training step.
//
// Matrices are row-major and dense; bf16 is one 16-bit word per element; the order of sums over
// rows depends on the shape alone. Without CUDA these functions throw (no_kernels.cpp).
#pragma once

#include <cstdint>

namespace sing::lab::fused {

struct BFloat16;       // bits only: the element type of a bf16 tensor
using Stream = void*;  // a cudaStream_t

// Rows of the float32 scratch matrices that hold partial sums: four and two blocks per
// multiprocessor of an H200.
inline constexpr std::int64_t kPartialRows = 528;
inline constexpr std::int64_t kNormPartialRows = 264;

// sums[columns] of values[rows, columns]; columns is a multiple of 8, at most 8192.
struct ColumnSums {
  const BFloat16* values;
  float* partial;  // [kPartialRows, columns]
  float* sums;
  std::int64_t rows, columns;
};
void column_sums(const ColumnSums& at, Stream stream);

// sum = x + branch + bias, normalized = LayerNorm(sum) · gain + shift. The width is a multiple of
// 128, at most 1024.
struct AddNorm {
  const float* x;  // [x_rows, width], repeated up to `rows`
  const BFloat16* branch;
  const float* bias;
  const float* gain;
  const float* shift;
  float* sum;
  BFloat16* normalized;
  float* mean;               // [rows]
  float* inverse_deviation;  // [rows]
  std::int64_t rows, x_rows, width;
  float epsilon;
};
bool add_norm_supports(std::int64_t width);
void add_norm(const AddNorm& at, Stream stream);

struct AddNormGradient {
  const BFloat16* normalized_gradient;
  const float* sum_gradient;  // null: none
  const float* sum;
  const float* mean;
  const float* inverse_deviation;
  const float* gain;
  float* x_gradient;          // [rows, width], before the sum over repeated rows
  BFloat16* branch_gradient;  // the same, rounded to bf16
  float* partial;             // [kNormPartialRows, 3 · width]
  float* column_gradients;    // [3, width]: gain, shift and bias
  std::int64_t rows, width;
};
void add_norm_gradient(const AddNormGradient& at, Stream stream);

// out = GELU(values + bias), exact; columns as for column_sums.
struct BiasGelu {
  const BFloat16* values;
  const float* bias;
  BFloat16* out;
  std::int64_t rows, columns;
};
void bias_gelu(const BiasGelu& at, Stream stream);

struct BiasGeluGradient {
  const BFloat16* values;
  const float* bias;
  const BFloat16* out_gradient;
  BFloat16* values_gradient;
  float* partial;        // [kPartialRows, columns]
  float* bias_gradient;  // [columns]
  std::int64_t rows, columns;
};
void bias_gelu_gradient(const BiasGeluGradient& at, Stream stream);

// softmax(q kᵀ / 8) v for 64 tokens and heads 64 wide, in the layouts of adjacent matrix products.
inline constexpr std::int64_t kAttentionTokens = 64;
inline constexpr std::int64_t kHeadWidth = 64;
struct ShortAttention {
  const BFloat16* qkv;  // [batch, 64, 3, heads, 64]
  BFloat16* out;        // [batch, 64, heads, 64]
  std::int64_t batch, heads;
};
void short_attention(const ShortAttention& at, Stream stream);

struct ShortAttentionGradient {
  const BFloat16* qkv;
  const BFloat16* out_gradient;
  BFloat16* qkv_gradient;
  std::int64_t batch, heads;
};
void short_attention_gradient(const ShortAttentionGradient& at, Stream stream);

// Batch normalization of rows of channels, with a residual and ReLU:
// out = max(0, gain · (x − mean) / deviation + shift + residual). The number of columns is a
// multiple of 8, at most 2048.
inline constexpr std::int64_t kMostNormColumns = 2048;
// Rows of the scratch matrix for the given number of elements.
std::int64_t batch_norm_parts(std::int64_t elements);
struct BatchNorm {
  const BFloat16* x;
  const BFloat16* residual;  // null: none
  const float* gain;
  const float* shift;
  float* running_mean;  // updated with `momentum`, as in torch
  float* running_variance;
  std::int64_t* batches;  // incremented
  BFloat16* out;
  float* mean;               // [columns]
  float* inverse_deviation;  // [columns]
  float* partial;            // [batch_norm_parts, 2 · columns]
  float* sums;               // [2 · columns]
  std::int64_t rows, columns;
  float momentum, epsilon;
  bool rectify;
};
void batch_norm(const BatchNorm& at, Stream stream);

struct BatchNormGradient {
  const BFloat16* x;
  const BFloat16* out;  // shows which values ReLU passed; null: computed from x
  const BFloat16* out_gradient;
  const BFloat16* second_out_gradient;  // added to the first; null: none
  const float* gain;
  const float* shift;
  const float* mean;
  const float* inverse_deviation;
  BFloat16* inner_gradient;  // gradient before ReLU and of the residual; null: not needed
  BFloat16* x_gradient;
  float* partial;           // [batch_norm_parts, 2 · columns]
  float* column_gradients;  // [2, columns]: shift and gain
  std::int64_t rows, columns;
  bool rectify;
};
void batch_norm_gradient(const BatchNormGradient& at, Stream stream);

}  // namespace sing::lab::fused
