// Makes batches of token sequences of different lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lab/encoder/text_pairs.hpp"
#include "lab/model/text_encoder.hpp"
#include "lab/task/evaluator.hpp"

namespace sing::lab::encoder {

// A batch begins with these tensors: ids and types int64 [B, T], lengths int64 [B]. The task's own
// tensors follow.
enum PaddedPart : std::size_t { kIds, kTypes, kLengths, kPaddedParts };

// The tensors are in host memory. T is columns_for() the longest sequence and at most `longest`,
// which no sequence exceeds.
task::Batch pad(std::span<const Sequence> sequences, std::int64_t padding, std::int64_t longest,
                bool pinned);

task::Batch moved(const task::Batch& batch, at::Device device);

// The encoder's input for a batch that is on its device.
model::EncoderInput encoder_input(const task::Batch& batch);

}  // namespace sing::lab::encoder
