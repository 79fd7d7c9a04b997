// Implements the vision transformer with plain tensor functions and with fused layers.
#include "lab/model/vit.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

struct NamedShape {
  VitSize size;
  std::int64_t patch_size, depth, width, heads;
};
constexpr std::array<NamedShape, 5> kShapes = {{{VitSize::kS16, 16, 12, 384, 6},
                                                {VitSize::kB16, 16, 12, 768, 12},
                                                {VitSize::kS8, 8, 12, 384, 6},
                                                {VitSize::kTiny, 16, 6, 192, 3},
                                                {VitSize::kMicro, 8, 4, 64, 2}}};

const NamedShape& find_shape(VitSize size) {
  for (const NamedShape& each : kShapes) {
    if (each.size == size) {
      return each;
    }
  }
  throw Error("[vit] wanted a known model");
}

constexpr double kDeviation = 0.02;
constexpr double kNormEpsilon = 1e-6;
constexpr std::int64_t kMlpFactor = 4;

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(kNormEpsilon));
}

torch::nn::Linear make_linear(std::int64_t in, std::int64_t out) {
  torch::nn::Linear linear(in, out);
  const torch::NoGradGuard no_gradient;
  linear->weight.normal_(0, kDeviation);
  linear->bias.zero_();
  return linear;
}

class LayerScaleImpl final : public torch::nn::Module {
 public:
  LayerScaleImpl(std::int64_t width, double initial)
      : gamma_(register_parameter("gamma", torch::full({width}, initial))) {}
  at::Tensor forward(const at::Tensor& tokens) { return tokens * gamma_; }

 private:
  at::Tensor gamma_;
};
TORCH_MODULE(LayerScale);

class AttentionImpl final : public torch::nn::Module {
 public:
  AttentionImpl(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        qkv_(register_module("qkv", make_linear(width, 3 * width))),
        proj_(register_module("proj", make_linear(width, width))) {}

  at::Tensor forward(const at::Tensor& tokens) {
    const auto batch = tokens.size(0);
    const auto count = tokens.size(1);
    const auto width = tokens.size(2);
    const auto parts =  // [3, B, heads, T, width of a head]
        qkv_(tokens).view({batch, count, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    const auto mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    return proj_(mixed.transpose(1, 2).reshape({batch, count, width}));
  }

  const torch::nn::LinearImpl& qkv() const { return *qkv_; }
  const torch::nn::LinearImpl& proj() const { return *proj_; }

 private:
  std::int64_t heads_;
  torch::nn::Linear qkv_, proj_;
};
TORCH_MODULE(Attention);

class MlpImpl final : public torch::nn::Module {
 public:
  explicit MlpImpl(std::int64_t width)
      : fc1_(register_module("fc1", make_linear(width, kMlpFactor * width))),
        fc2_(register_module("fc2", make_linear(kMlpFactor * width, width))) {}
  at::Tensor forward(const at::Tensor& tokens) { return fc2_(at::gelu(fc1_(tokens))); }

  const torch::nn::LinearImpl& fc1() const { return *fc1_; }
  const torch::nn::LinearImpl& fc2() const { return *fc2_; }

 private:
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(Mlp);

class BlockImpl final : public torch::nn::Module {
 public:
  BlockImpl(const VitShape& shape, const std::optional<double>& layer_scale)
      : norm1_(register_module("norm1", make_norm(shape.width))),
        attention_(register_module("attn", Attention(shape.width, shape.heads))) {
    if (layer_scale) {
      scale1_ = register_module("ls1", LayerScale(shape.width, *layer_scale));
    }
    norm2_ = register_module("norm2", make_norm(shape.width));
    mlp_ = register_module("mlp", Mlp(shape.width));
    if (layer_scale) {
      scale2_ = register_module("ls2", LayerScale(shape.width, *layer_scale));
    }
  }

  at::Tensor forward(const at::Tensor& tokens) {
    const at::Tensor after = tokens + scaled(scale1_, attention_(norm1_(tokens)));
    return after + scaled(scale2_, mlp_(norm2_(after)));
  }

  struct Layers {
    const torch::nn::LayerNormImpl& norm1;
    const torch::nn::LinearImpl& qkv;
    const torch::nn::LinearImpl& proj;
    const torch::nn::LayerNormImpl& norm2;
    const torch::nn::LinearImpl& fc1;
    const torch::nn::LinearImpl& fc2;
  };
  Layers layers() const {
    return {*norm1_, attention_->qkv(), attention_->proj(), *norm2_, mlp_->fc1(), mlp_->fc2()};
  }

 private:
  static at::Tensor scaled(LayerScale& scale, const at::Tensor& tokens) {
    return scale.is_empty() ? tokens : scale(tokens);
  }

  torch::nn::LayerNorm norm1_;
  Attention attention_;
  LayerScale scale1_ = nullptr;
  torch::nn::LayerNorm norm2_ = nullptr;
  Mlp mlp_ = nullptr;
  LayerScale scale2_ = nullptr;
};
TORCH_MODULE(Block);

// A convolution whose stride equals its kernel size, computed as a matrix product.
class PatchEmbedImpl final : public torch::nn::Module {
 public:
  explicit PatchEmbedImpl(const VitShape& shape) : patch_size_(shape.patch_size) {
    proj_ = register_module(
        "proj",
        torch::nn::Conv2d(torch::nn::Conv2dOptions(shape.channels, shape.width, shape.patch_size)
                              .stride(shape.patch_size)));
    const torch::NoGradGuard no_gradient;
    proj_->weight.normal_(0, kDeviation);
    proj_->bias.zero_();
  }

  // Maps [B, C, S, S] to [B, T, C · patch²].
  at::Tensor patches(const at::Tensor& images) const {
    const auto side = images.size(2) / patch_size_;
    return images.view({images.size(0), images.size(1), side, patch_size_, side, patch_size_})
        .permute({0, 2, 4, 1, 3, 5})
        .reshape({images.size(0), side * side, -1});
  }

  at::Tensor forward(const at::Tensor& images) {
    return at::linear(patches(images), proj_->weight.flatten(1), proj_->bias);
  }

  const torch::nn::Conv2dImpl& projection() const { return *proj_; }

 private:
  std::int64_t patch_size_;
  torch::nn::Conv2d proj_ = nullptr;
};
TORCH_MODULE(PatchEmbed);

}  // namespace

VitShape shape_of(const VitOptions& options, std::int64_t image_size, std::int64_t channels) {
  validate(options, "vit");
  const NamedShape& named = find_shape(options.model);
  const auto choose = [](std::int64_t given, std::int64_t usual) {
    return given > 0 ? given : usual;
  };
  const VitShape shape{.image_size = image_size,
                       .channels = channels,
                       .patch_size = choose(options.patch_size, named.patch_size),
                       .depth = choose(options.depth, named.depth),
                       .width = choose(options.width, named.width),
                       .heads = choose(options.heads, named.heads)};
  SING_CHECK(image_size % shape.patch_size == 0,
             "[vit] wanted a patch_size that divides the image's {} pixels per side, got {}",
             image_size, shape.patch_size);
  SING_CHECK(shape.width % shape.heads == 0,
             "[vit] wanted heads that divide the width of {}, got {}", shape.width, shape.heads);
  return shape;
}

struct VitImpl::Parts {
  PatchEmbed patch_embed = nullptr;
  at::Tensor positions;
  std::vector<Block> blocks;
  torch::nn::LayerNorm norm = nullptr;
  torch::nn::Linear head = nullptr;
};

VitImpl::VitImpl(const VitShape& shape, const std::optional<double>& layer_scale)
    : shape_(shape), has_layer_scale_(layer_scale.has_value()), parts_(std::make_unique<Parts>()) {
  const auto side = shape.image_size / shape.patch_size;
  parts_->positions =
      register_parameter("pos_embed", torch::randn({1, side * side, shape.width}) * kDeviation);
  parts_->patch_embed = register_module("patch_embed", PatchEmbed(shape));
  const auto list = register_module("blocks", torch::nn::ModuleList());
  for (std::int64_t block = 0; block < shape.depth; ++block) {
    parts_->blocks.emplace_back(shape, layer_scale);
    list->push_back(parts_->blocks.back());
  }
  parts_->norm = register_module("norm", make_norm(shape.width));
  parts_->head = register_module(
      "head", make_linear(shape.width, shape.channels * shape.patch_size * shape.patch_size));
}

VitImpl::~VitImpl() = default;

// Maps [B, T, C · patch²] to [B, C, S, S].
at::Tensor VitImpl::to_images(const at::Tensor& patches) const {
  const auto patch = shape_.patch_size;
  const auto side = shape_.image_size / patch;
  return patches.view({-1, side, side, shape_.channels, patch, patch})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape({-1, shape_.channels, shape_.image_size, shape_.image_size});
}

at::Tensor VitImpl::forward(const at::Tensor& images) {
  at::Tensor tokens = parts_->patch_embed(images) + parts_->positions;
  for (Block& block : parts_->blocks) {
    tokens = block(tokens);
  }
  return to_images(parts_->head(parts_->norm(tokens)));
}

std::vector<at::Tensor> VitImpl::copied_parameters() const {
  std::vector<at::Tensor> list = {parts_->patch_embed->projection().weight};
  for (const Block& block : parts_->blocks) {
    const BlockImpl::Layers at = block->layers();
    list.insert(list.end(),
                {at.qkv.weight, at.qkv.bias, at.proj.weight, at.fc1.weight, at.fc2.weight});
  }
  list.insert(list.end(), {parts_->head->weight, parts_->head->bias});
  return list;
}

// The bias of a product is added where its result is next read: in the sum, or before the GELU.
at::Tensor VitImpl::fused_forward(const at::Tensor& images, const WeightCopies& copies) {
  const torch::nn::Conv2dImpl& projection = parts_->patch_embed->projection();
  const at::Tensor patches = parts_->patch_embed->patches(images).flatten(0, 1).to(at::kBFloat16);
  const fused::Copied patch_weight = copies.of(projection.weight);
  const fused::AttentionShape shape{images.size(0), patches.size(0) / images.size(0), shape_.heads};
  at::Tensor sum = parts_->positions.flatten(0, 1);
  at::Tensor branch = fused::linear(
      patches, {patch_weight.parameter.flatten(1),
                patch_weight.copy.defined() ? patch_weight.copy.flatten(1) : patch_weight.copy});
  at::Tensor bias = projection.bias;
  at::Tensor normalized;
  const auto add_norm = [&](const torch::nn::LayerNormImpl& norm) {
    std::tie(sum, normalized) =
        fused::add_norm(sum, branch, bias, {norm.weight, norm.bias, kNormEpsilon});
  };
  for (const Block& block : parts_->blocks) {
    const BlockImpl::Layers at = block->layers();
    add_norm(at.norm1);
    const at::Tensor qkv =
        fused::linear(normalized, copies.of(at.qkv.weight), copies.of(at.qkv.bias));
    branch = fused::linear(fused::attention(qkv, shape), copies.of(at.proj.weight));
    bias = at.proj.bias;
    add_norm(at.norm2);
    const at::Tensor hidden = fused::linear(normalized, copies.of(at.fc1.weight));
    branch = fused::linear(fused::bias_gelu(hidden, at.fc1.bias), copies.of(at.fc2.weight));
    bias = at.fc2.bias;
  }
  add_norm(*parts_->norm);
  return to_images(
      fused::linear(normalized, copies.of(parts_->head->weight), copies.of(parts_->head->bias)));
}

void freeze_norms(torch::nn::Module& model) {
  for (const auto& module : model.modules()) {
    const bool is_norm = module->as<torch::nn::LayerNorm>() != nullptr ||
                         module->as<torch::nn::GroupNorm>() != nullptr ||
                         module->as<torch::nn::BatchNorm1d>() != nullptr ||
                         module->as<torch::nn::BatchNorm2d>() != nullptr ||
                         module->as<LayerScaleImpl>() != nullptr;
    if (is_norm) {
      for (at::Tensor& parameter : module->parameters(/*recurse=*/false)) {
        parameter.requires_grad_(false);
      }
    }
  }
}

}  // namespace sing::lab::model
