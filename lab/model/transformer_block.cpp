// Implements the block with plain tensor functions.
#include "lab/model/transformer_block.hpp"

#include <torch/torch.h>

namespace sing::lab::model {
namespace {

constexpr std::int64_t kMlpFactor = 4;

}  // namespace

::torch::nn::LayerNorm make_norm(std::int64_t width, double epsilon) {
  return ::torch::nn::LayerNorm(::torch::nn::LayerNormOptions({width}).eps(epsilon));
}

::torch::nn::Linear make_linear(std::int64_t in, std::int64_t out) {
  ::torch::nn::Linear linear(in, out);
  const ::torch::NoGradGuard no_gradient;
  linear->weight.normal_(0, kWeightDeviation);
  linear->bias.zero_();
  return linear;
}

LayerScaleImpl::LayerScaleImpl(std::int64_t width, double initial)
    : gamma_(register_parameter("gamma", ::torch::full({width}, initial))) {}

AttentionImpl::AttentionImpl(const BlockShape& shape)
    : heads_(shape.heads),
      causal_(shape.causal),
      dropout_(shape.dropout),
      qkv_(register_module("qkv", make_linear(shape.width, 3 * shape.width))),
      proj_(register_module("proj", make_linear(shape.width, shape.width))) {}

at::Tensor AttentionImpl::forward(const at::Tensor& tokens) {
  const auto batch = tokens.size(0);
  const auto count = tokens.size(1);
  const auto width = tokens.size(2);
  const auto parts =  // [3, B, heads, T, width of a head]
      qkv_(tokens).view({batch, count, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
  const auto mixed = at::scaled_dot_product_attention(
      parts[0], parts[1], parts[2], /*attn_mask=*/{}, is_training() ? dropout_ : 0, causal_);
  return proj_(mixed.transpose(1, 2).reshape({batch, count, width}));
}

MlpImpl::MlpImpl(std::int64_t width)
    : fc1_(register_module("fc1", make_linear(width, kMlpFactor * width))),
      fc2_(register_module("fc2", make_linear(kMlpFactor * width, width))) {}

at::Tensor MlpImpl::forward(const at::Tensor& tokens) { return fc2_(at::gelu(fc1_(tokens))); }

BlockImpl::BlockImpl(const BlockShape& shape)
    : dropout_(shape.dropout),
      norm1_(register_module("norm1", make_norm(shape.width, shape.norm_epsilon))),
      attention_(register_module("attn", Attention(shape))) {
  if (shape.layer_scale) {
    scale1_ = register_module("ls1", LayerScale(shape.width, *shape.layer_scale));
  }
  norm2_ = register_module("norm2", make_norm(shape.width, shape.norm_epsilon));
  mlp_ = register_module("mlp", Mlp(shape.width));
  if (shape.layer_scale) {
    scale2_ = register_module("ls2", LayerScale(shape.width, *shape.layer_scale));
  }
}

at::Tensor BlockImpl::added(LayerScale& scale, const at::Tensor& branch) const {
  const at::Tensor dropped =
      is_training() && dropout_ > 0 ? at::dropout(branch, dropout_, /*train=*/true) : branch;
  return scale.is_empty() ? dropped : scale(dropped);
}

at::Tensor BlockImpl::forward(const at::Tensor& tokens) {
  const at::Tensor after = tokens + added(scale1_, attention_(norm1_(tokens)));
  return after + added(scale2_, mlp_(norm2_(after)));
}

}  // namespace sing::lab::model
