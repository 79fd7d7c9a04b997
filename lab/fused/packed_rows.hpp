// Defines the tokens of a padded batch in another order: sequence after sequence, and behind them
// all filled-up places. Attention then reads each sequence where it lies, without a mask.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sing::lab::fused {

// The order of the rows [B · T, …] of B sequences of at most T tokens.
struct PackedRows {
  at::Tensor is_token;  // bool [B, T]; true until the end of each sequence
  at::Tensor order;     // int64 [B · T]: the padded place of each packed row
  at::Tensor places;    // int64 [B · T]: the packed row of each padded place
  // int32 [2 B + 1]: where each sequence begins, then each of B groups of filled-up places, and the
  // end.
  at::Tensor begins;

  std::int64_t count() const { return is_token.size(0); }
  std::int64_t longest() const { return is_token.size(1); }
};

PackedRows pack_rows(const at::Tensor& is_token);

// Maps [B, T, …] to packed rows and back.
at::Tensor packed(const at::Tensor& padded, const PackedRows& rows);
at::Tensor padded(const at::Tensor& packed, const PackedRows& rows);

struct PackedAttention {
  std::int64_t heads;
  double dropout = 0;   // of the weights
  bool causal = false;  // a token sees itself and earlier tokens only
};

// softmax(q kᵀ / √width) v in packed rows: sequence i of the queries attends to sequence i of the
// keys and values. The results of filled-up places are finite and mean nothing.
at::Tensor attention(const at::Tensor& queries, const PackedRows& query_rows,
                     const at::Tensor& keys, const at::Tensor& values, const PackedRows& key_rows,
                     const PackedAttention& options);

}  // namespace sing::lab::fused
