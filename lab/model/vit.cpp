// Implements the vision transformer with plain tensor functions and with fused layers.
#include "lab/model/vit.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lab/model/transformer_block.hpp"
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
  throw Error(
      fmt::format("[vit] wanted a size of the table, got number {}", static_cast<int>(size)));
}

constexpr double kNormEpsilon = 1e-6;

// A convolution whose stride equals its kernel size, computed as a matrix product.
class PatchEmbedImpl final : public ::torch::nn::Module {
 public:
  explicit PatchEmbedImpl(const VitShape& shape) : patch_size_(shape.patch_size) {
    proj_ = register_module(
        "proj", ::torch::nn::Conv2d(
                    ::torch::nn::Conv2dOptions(shape.channels, shape.width, shape.patch_size)
                        .stride(shape.patch_size)));
    const ::torch::NoGradGuard no_gradient;
    proj_->weight.normal_(0, kWeightDeviation);
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

  const ::torch::nn::Conv2dImpl& projection() const { return *proj_; }

 private:
  std::int64_t patch_size_;
  ::torch::nn::Conv2d proj_ = nullptr;
};
using PatchEmbed = ::torch::nn::ModuleHolder<PatchEmbedImpl>;

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
  ::torch::nn::LayerNorm norm = nullptr;
  ::torch::nn::Linear head = nullptr;
};

VitImpl::VitImpl(const VitShape& shape, const std::optional<double>& layer_scale)
    : shape_(shape), has_layer_scale_(layer_scale.has_value()), parts_(std::make_unique<Parts>()) {
  const auto side = shape.image_size / shape.patch_size;
  parts_->positions = register_parameter(
      "pos_embed", ::torch::randn({1, side * side, shape.width}) * kWeightDeviation);
  parts_->patch_embed = register_module("patch_embed", PatchEmbed(shape));
  const auto list = register_module("blocks", ::torch::nn::ModuleList());
  for (std::int64_t block = 0; block < shape.depth; ++block) {
    parts_->blocks.emplace_back(BlockShape{.width = shape.width,
                                           .heads = shape.heads,
                                           .norm_epsilon = kNormEpsilon,
                                           .layer_scale = layer_scale});
    list->push_back(parts_->blocks.back());
  }
  parts_->norm = register_module("norm", make_norm(shape.width, kNormEpsilon));
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
  const ::torch::nn::Conv2dImpl& projection = parts_->patch_embed->projection();
  const at::Tensor patches = parts_->patch_embed->patches(images).flatten(0, 1).to(at::kBFloat16);
  const fused::Copied patch_weight = copies.of(projection.weight);
  const fused::AttentionShape shape{images.size(0), patches.size(0) / images.size(0), shape_.heads};
  at::Tensor sum = parts_->positions.flatten(0, 1);
  at::Tensor branch = fused::linear(
      patches, {patch_weight.parameter.flatten(1),
                patch_weight.copy.defined() ? patch_weight.copy.flatten(1) : patch_weight.copy});
  at::Tensor bias = projection.bias;
  at::Tensor normalized;
  const auto add_norm = [&](const ::torch::nn::LayerNormImpl& norm) {
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

}  // namespace sing::lab::model
