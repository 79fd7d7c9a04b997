// Defines a text encoder with a linear layer behind it.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>

#include "lab/model/text_encoder.hpp"

namespace sing::lab::model {

// Parameters have the names that transformers gives them in models with a head: those of the
// encoder begin with bert or mpnet.
class TextModelImpl final : public ::torch::nn::Module {
 public:
  // The head is called `head` and has `outputs` outputs.
  TextModelImpl(const EncoderShape& shape, Pooler pooler, const std::string& head,
                std::int64_t outputs);
  ~TextModelImpl() override;

  // The head's outputs for every token, [B, T, outputs]; with a pooler for every sequence, [B,
  // outputs], with dropout before the head.
  at::Tensor forward(const EncoderInput& input);

  // The same with fused layers in the encoder, and the parameters that need copies for them.
  at::Tensor fused_forward(const EncoderInput& input, const WeightCopies& copies);
  std::vector<at::Tensor> copied_parameters() const { return encoder_->copied_parameters(); }

  TextEncoderImpl& encoder() { return *encoder_; }

 private:
  struct Head;
  at::Tensor outputs_of(const at::Tensor& hidden);

  Pooler pooler_;
  double dropout_;
  std::shared_ptr<TextEncoderImpl> encoder_;
  std::unique_ptr<Head> head_;
};

}  // namespace sing::lab::model
