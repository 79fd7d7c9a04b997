// Implements the language model with plain tensor functions and with fused layers.
#include "lab/model/gpt.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>

#include "lab/fused/text_functions.hpp"
#include "lab/model/transformer_block.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

constexpr double kGptNormEpsilon = 1e-5;

struct NamedGpt {
  GptSize size;
  std::int64_t depth, width, heads;
};
constexpr std::array<NamedGpt, 5> kGpts = {{{GptSize::kMicro, 2, 64, 2},
                                            {GptSize::kTiny, 4, 128, 4},
                                            {GptSize::k10M, 6, 384, 6},
                                            {GptSize::k30M, 8, 512, 8},
                                            {GptSize::k124M, 12, 768, 12}}};

const NamedGpt& find_gpt(GptSize size) {
  for (const NamedGpt& each : kGpts) {
    if (each.size == size) {
      return each;
    }
  }
  throw Error(
      fmt::format("[gpt] wanted a size of the table, got number {}", static_cast<int>(size)));
}

}  // namespace

GptShape shape_of(const GptOptions& options, std::int64_t vocabulary) {
  validate(options, "gpt");
  const NamedGpt& named = find_gpt(options.size);
  const auto choose = [](std::int64_t given, std::int64_t usual) {
    return given > 0 ? given : usual;
  };
  const GptShape shape{.vocabulary = vocabulary,
                       .context = options.context,
                       .depth = choose(options.depth, named.depth),
                       .width = choose(options.width, named.width),
                       .heads = choose(options.heads, named.heads),
                       .dropout = options.dropout};
  SING_CHECK(shape.width % shape.heads == 0,
             "[gpt] wanted heads that divide the width of {}, got {}", shape.width, shape.heads);
  return shape;
}

struct GptImpl::Parts {
  ::torch::nn::Embedding tokens = nullptr;
  at::Tensor positions;  // [context, width]
  std::vector<Block> blocks;
  ::torch::nn::LayerNorm norm = nullptr;
};

GptImpl::GptImpl(const GptShape& shape) : shape_(shape), parts_(std::make_unique<Parts>()) {
  parts_->tokens =
      register_module("token_embed", ::torch::nn::Embedding(shape.vocabulary, shape.width));
  parts_->positions = register_parameter(
      "pos_embed", ::torch::randn({shape.context, shape.width}) * kWeightDeviation);
  const ::torch::NoGradGuard no_gradient;
  parts_->tokens->weight.normal_(0, kWeightDeviation);
  const auto list = register_module("blocks", ::torch::nn::ModuleList());
  for (std::int64_t block = 0; block < shape.depth; ++block) {
    parts_->blocks.emplace_back(BlockShape{.width = shape.width,
                                           .heads = shape.heads,
                                           .norm_epsilon = kGptNormEpsilon,
                                           .causal = true,
                                           .dropout = shape.dropout});
    list->push_back(parts_->blocks.back());
    const BlockImpl::Layers layers = parts_->blocks.back()->layers();
    const double shrink = 1 / std::sqrt(2 * static_cast<double>(shape.depth));
    at::Tensor(layers.proj.weight).mul_(shrink);
    at::Tensor(layers.fc2.weight).mul_(shrink);
  }
  parts_->norm = register_module("norm", make_norm(shape.width, kGptNormEpsilon));
}

GptImpl::~GptImpl() = default;

at::Tensor GptImpl::forward(const at::Tensor& tokens) {
  at::Tensor features = parts_->tokens(tokens) + parts_->positions.slice(0, 0, tokens.size(1));
  if (is_training() && shape_.dropout > 0) {
    features = at::dropout(features, shape_.dropout, /*train=*/true);
  }
  for (Block& block : parts_->blocks) {
    features = block(features);
  }
  return at::linear(parts_->norm(features), parts_->tokens->weight);
}

std::vector<at::Tensor> GptImpl::copied_parameters() const {
  std::vector<at::Tensor> list = {parts_->tokens->weight};
  for (const Block& block : parts_->blocks) {
    const BlockImpl::Layers at = block->layers();
    list.insert(list.end(),
                {at.qkv.weight, at.qkv.bias, at.proj.weight, at.fc1.weight, at.fc2.weight});
  }
  return list;
}

// The bias of a product is added where its result is next read: in the sum, or before the GELU.
at::Tensor GptImpl::fused_forward(const at::Tensor& tokens, const WeightCopies& copies) {
  const auto batch = tokens.size(0);
  const auto count = tokens.size(1);
  at::Tensor sum = (parts_->tokens(tokens) + parts_->positions.slice(0, 0, count)).flatten(0, 1);
  at::Tensor normalized =
      at::layer_norm(sum, {shape_.width}, parts_->blocks.front()->layers().norm1.weight,
                     parts_->blocks.front()->layers().norm1.bias, kGptNormEpsilon)
          .to(at::kBFloat16);
  for (std::size_t block = 0; block < parts_->blocks.size(); ++block) {
    const BlockImpl::Layers at = parts_->blocks[block]->layers();
    const ::torch::nn::LayerNormImpl& next = block + 1 < parts_->blocks.size()
                                                 ? parts_->blocks[block + 1]->layers().norm1
                                                 : *parts_->norm;
    const at::Tensor qkv =
        fused::linear(normalized, copies.of(at.qkv.weight), copies.of(at.qkv.bias));
    const std::vector<at::Tensor> parts = qkv.split(shape_.width, 1);
    const at::Tensor mixed = fused::attention(
        parts[0], parts[1], parts[2], {.batch = batch, .heads = shape_.heads, .causal = true});
    std::tie(sum, normalized) =
        fused::add_norm(sum, fused::linear(mixed, copies.of(at.proj.weight)), at.proj.bias,
                        {at.norm2.weight, at.norm2.bias, kGptNormEpsilon});
    const at::Tensor hidden = fused::linear(normalized, copies.of(at.fc1.weight));
    std::tie(sum, normalized) = fused::add_norm(
        sum, fused::linear(fused::bias_gelu(hidden, at.fc1.bias), copies.of(at.fc2.weight)),
        at.fc2.bias, {next.weight, next.bias, kGptNormEpsilon});
  }
  return fused::linear(normalized, copies.of(parts_->tokens->weight))
      .view({batch, count, shape_.vocabulary});
}

}  // namespace sing::lab::model
