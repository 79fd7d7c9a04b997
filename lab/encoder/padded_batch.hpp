// Makes tensors of token sequences of different lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lab/encoder/text_pairs.hpp"
#include "lab/model/text_encoder.hpp"

namespace sing::lab::encoder {

// In host memory: ids and types int64 [B, T], lengths int64 [B]. T is columns_for() the longest.
struct PaddedBatch {
  at::Tensor ids, types, lengths;
};

// T is at most `longest`, which no sequence exceeds.
PaddedBatch pad(std::span<const Sequence> sequences, std::int64_t padding, std::int64_t longest,
                bool pinned);

// The encoder's input for tensors of a padded batch that are on its device.
model::EncoderInput encoder_input(const at::Tensor& ids, const at::Tensor& types,
                                  const at::Tensor& lengths);

}  // namespace sing::lab::encoder
