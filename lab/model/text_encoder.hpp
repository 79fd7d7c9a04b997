// Defines text encoders: transformers that turn a sequence of tokens into a vector per token.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "lab/model/encoder_shape.hpp"
#include "lab/model/pretrained_weights.hpp"
#include "lab/model/weight_copies.hpp"

namespace sing::lab::model {

// Sequences of T tokens, the shorter ones filled up at their end.
struct EncoderInput {
  at::Tensor ids;       // int64 [B, T]
  at::Tensor types;     // int64 [B, T]; MPNet does not read them
  at::Tensor is_token;  // bool [B, T]: not filled up
};

enum class Pooler { kNone, kFirstToken };

// Post-LayerNorm blocks with exact GELU. Parameters have the names and the forward pass the result
// of transformers' BertModel and MPNetModel. Matrices and embeddings are normal with standard
// deviation 0.02, biases are 0.
class TextEncoderImpl final : public ::torch::nn::Module {
 public:
  TextEncoderImpl(const EncoderShape& shape, Pooler pooler);
  ~TextEncoderImpl() override;

  at::Tensor forward(const EncoderInput& input);  // [B, T, width]
  // The same with fused layers: matrix products and the residual in bf16.
  at::Tensor fused_forward(const EncoderInput& input, const WeightCopies& copies);
  // Parameters that matrix products read and that therefore need copies on a GPU.
  std::vector<at::Tensor> copied_parameters() const;
  // [B, width] from the first token of forward's result: a linear layer and tanh. Needs
  // kFirstToken.
  at::Tensor pooled(const at::Tensor& hidden);

 private:
  struct Parts;
  void check_length(const EncoderInput& input) const;

  EncoderShape shape_;
  std::unique_ptr<Parts> parts_;
};

// The names of an encoder's tensors in files of weights: also behind "bert." or "mpnet.", and
// beside the heads of other models, which are left out.
WeightNames encoder_weight_names(Pooler pooler);

}  // namespace sing::lab::model
