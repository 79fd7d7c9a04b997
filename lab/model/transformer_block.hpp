// Defines the pre-LayerNorm block of transformers: attention and a multilayer perceptron, each
// added to what it reads. Vision transformers and language models are made of it.
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

namespace sing::lab::model {

// Weights of all layers are normal with this standard deviation; biases are 0.
inline constexpr double kWeightDeviation = 0.02;

::torch::nn::LayerNorm make_norm(std::int64_t width, double epsilon);
::torch::nn::Linear make_linear(std::int64_t in, std::int64_t out);

struct BlockShape {
  std::int64_t width, heads;
  double norm_epsilon;
  bool causal = false;                               // a token sees itself and earlier tokens only
  std::optional<double> layer_scale = std::nullopt;  // initial value of LayerScale
  double dropout = 0;                                // on attention weights and on both branches
};

// Multiplies features by trained factors (Touvron et al. 2021).
class LayerScaleImpl final : public ::torch::nn::Module {
 public:
  LayerScaleImpl(std::int64_t width, double initial);
  at::Tensor forward(const at::Tensor& tokens) { return tokens * gamma_; }

 private:
  at::Tensor gamma_;
};
using LayerScale = ::torch::nn::ModuleHolder<LayerScaleImpl>;

class AttentionImpl final : public ::torch::nn::Module {
 public:
  explicit AttentionImpl(const BlockShape& shape);
  at::Tensor forward(const at::Tensor& tokens);  // [B, T, width]

  const ::torch::nn::LinearImpl& qkv() const { return *qkv_; }
  const ::torch::nn::LinearImpl& proj() const { return *proj_; }

 private:
  std::int64_t heads_;
  bool causal_;
  double dropout_;
  ::torch::nn::Linear qkv_, proj_;
};
using Attention = ::torch::nn::ModuleHolder<AttentionImpl>;

class MlpImpl final : public ::torch::nn::Module {
 public:
  explicit MlpImpl(std::int64_t width);
  at::Tensor forward(const at::Tensor& tokens);

  const ::torch::nn::LinearImpl& fc1() const { return *fc1_; }
  const ::torch::nn::LinearImpl& fc2() const { return *fc2_; }

 private:
  ::torch::nn::Linear fc1_, fc2_;
};
using Mlp = ::torch::nn::ModuleHolder<MlpImpl>;

class BlockImpl final : public ::torch::nn::Module {
 public:
  explicit BlockImpl(const BlockShape& shape);
  at::Tensor forward(const at::Tensor& tokens);

  struct Layers {
    const ::torch::nn::LayerNormImpl& norm1;
    const ::torch::nn::LinearImpl& qkv;
    const ::torch::nn::LinearImpl& proj;
    const ::torch::nn::LayerNormImpl& norm2;
    const ::torch::nn::LinearImpl& fc1;
    const ::torch::nn::LinearImpl& fc2;
  };
  Layers layers() const {
    return {*norm1_, attention_->qkv(), attention_->proj(), *norm2_, mlp_->fc1(), mlp_->fc2()};
  }

 private:
  at::Tensor added(LayerScale& scale, const at::Tensor& branch) const;

  double dropout_;
  ::torch::nn::LayerNorm norm1_;
  Attention attention_;
  LayerScale scale1_ = nullptr;
  ::torch::nn::LayerNorm norm2_ = nullptr;
  Mlp mlp_ = nullptr;
  LayerScale scale2_ = nullptr;
};
using Block = ::torch::nn::ModuleHolder<BlockImpl>;

}  // namespace sing::lab::model
