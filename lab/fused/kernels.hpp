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

// sum = x + dropout(branch + bias), normalized = LayerNorm(sum) · gain + shift. x is float32 or
// bf16. Dropout keeps an element where `keep` is not 0, multiplied by keep_factor. The width is a
// multiple of 128, at most 1024.
struct AddNorm {
  const float* x;  // [x_rows, width], repeated up to `rows`; null: half_x
  const BFloat16* half_x;
  const BFloat16* branch;
  const std::uint8_t* keep;  // [rows, width]; null: no dropout
  const float* bias;
  const float* gain;
  const float* shift;
  float* sum;
  BFloat16* normalized;
  float* mean;               // [rows]
  float* inverse_deviation;  // [rows]
  std::int64_t rows, x_rows, width;
  float epsilon, keep_factor;
};
bool add_norm_supports(std::int64_t width);
void add_norm(const AddNorm& at, Stream stream);

struct AddNormGradient {
  const BFloat16* normalized_gradient;
  const BFloat16* second_normalized_gradient;  // added to the first; null: none
  const float* sum_gradient;                   // null: none
  const float* sum;
  const std::uint8_t* keep;  // null: no dropout
  const float* mean;
  const float* inverse_deviation;
  const float* gain;
  float* x_gradient;  // [rows, width], before the sum over repeated rows; null: half_x_gradient
  BFloat16* half_x_gradient;  // null without dropout: equals branch_gradient
  BFloat16* branch_gradient;
  float* partial;           // [kNormPartialRows, 3 · width]
  float* column_gradients;  // [3, width]: gain, shift and bias
  std::int64_t rows, width;
  float keep_factor;
};
void add_norm_gradient(const AddNormGradient& at, Stream stream);

// out = GELU(values + bias), exact, or dropout(ReLU(values + bias)) with `keep` as for AddNorm;
// columns as for column_sums.
struct BiasGelu {
  const BFloat16* values;
  const float* bias;
  BFloat16* out;
  std::int64_t rows, columns;
  bool rectifies;
  const std::uint8_t* keep;
  float keep_factor;
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
  bool rectifies;
  const std::uint8_t* keep;
  float keep_factor;
};
void bias_gelu_gradient(const BiasGeluGradient& at, Stream stream);

// losses[rows] = (1 − smoothing) · −log p of the target + smoothing · mean of −log p over the
// columns, with p = softmax of the row; 0 where the target is `ignored`, and not a number where it
// is no class. The gradient of the sum of the losses, multiplied by a factor on the device, takes
// the place of the logits. Rows begin `stride` elements apart, a multiple of 8; the elements
// between them, up to a multiple of 8, become 0.
inline constexpr std::int64_t kMostClasses = 110'000;
struct CrossEntropy {
  BFloat16* logits;
  const std::int64_t* targets;  // [rows]
  float* losses;
  const float* factor;
  std::int64_t rows, stride, columns, ignored;
  float smoothing;
};
void cross_entropy(const CrossEntropy& at, Stream stream);
// Multiplies rows such as those of CrossEntropy by a factor on the device, and costs little if it
// is 1.
void scale_rows(BFloat16* values, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                const float* factor, Stream stream);

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

// softmax(scale · q kᵀ) v within sequences of at most kLongestSequence tokens that lie one after
// the other. Heads are 32, 64 or 128 wide; strides are multiples of 8. Dropout keeps a weight where
// `keep` is not 0, multiplied by keep_factor. The sequences after the first `sequences` are
// filled-up places, whose results are 0.
inline constexpr std::int64_t kLongestSequence = 64;
struct SequenceAttention {
  const BFloat16* queries;
  const BFloat16* keys;
  const BFloat16* values;
  std::int64_t query_stride, key_stride, value_stride;  // elements from row to row
  const std::int32_t* query_begins;                     // [begins + 1]
  const std::int32_t* key_begins;
  const std::uint8_t* keep;  // [queries, heads, longest_key]; null: no dropout
  BFloat16* out;             // [queries, heads · head_width]
  std::int64_t begins, sequences, heads, head_width, longest_query, longest_key;
  float scale, keep_factor;
  bool causal;
};
bool sequence_attention_supports(std::int64_t head_width, std::int64_t longest);
void sequence_attention(const SequenceAttention& at, Stream stream);

// The gradients have rows of heads · head_width elements.
struct SequenceAttentionGradient {
  const BFloat16* out_gradient;
  BFloat16* query_gradient;
  BFloat16* key_gradient;
  BFloat16* value_gradient;
};
void sequence_attention_gradient(const SequenceAttention& at, const SequenceAttentionGradient& to,
                                 Stream stream);

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
