// Implements the encoder with a head.
#include "lab/model/text_model.hpp"

#include <torch/torch.h>

#include "lab/model/transformer_block.hpp"

namespace sing::lab::model {

struct TextModelImpl::Head {
  ::torch::nn::Linear linear = nullptr;
};

TextModelImpl::TextModelImpl(const EncoderShape& shape, Pooler pooler, const std::string& head,
                             std::int64_t outputs)
    : pooler_(pooler),
      dropout_(shape.dropout),
      encoder_(register_module(std::string(name_of(shape.kind)),
                               std::make_shared<TextEncoderImpl>(shape, pooler))),
      head_(std::make_unique<Head>()) {
  head_->linear = register_module(head, make_linear(shape.width, outputs));
}

TextModelImpl::~TextModelImpl() = default;

at::Tensor TextModelImpl::forward(const EncoderInput& input) {
  return outputs_of(encoder_->forward(input));
}

at::Tensor TextModelImpl::fused_forward(const EncoderInput& input, const WeightCopies& copies) {
  return outputs_of(encoder_->fused_forward(input, copies));
}

at::Tensor TextModelImpl::outputs_of(const at::Tensor& hidden) {
  if (pooler_ == Pooler::kNone) {
    return head_->linear(hidden);
  }
  return head_->linear(at::dropout(encoder_->pooled(hidden), dropout_, is_training()));
}

}  // namespace sing::lab::model
