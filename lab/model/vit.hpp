// Defines vision transformers from image to image: each output token becomes a patch of the output.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

#include "lab/model/weight_copies.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::model {

// S/16, B/16 and S/8 are the paper's sizes; tiny and micro are for CPUs.
enum class VitSize : std::int32_t { kS16, kB16, kS8, kTiny, kMicro };

constexpr auto enum_names(VitSize) {
  return std::to_array<EnumName<VitSize>>({{VitSize::kS16, "vit-s16"},
                                           {VitSize::kB16, "vit-b16"},
                                           {VitSize::kS8, "vit-s8"},
                                           {VitSize::kTiny, "vit-tiny"},
                                           {VitSize::kMicro, "vit-micro"}});
}

// A value of 0 selects that of the named model.
struct VitOptions {
  VitSize model = VitSize::kS16;
  std::int64_t patch_size = 0;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::optional<double> layer_scale = std::nullopt;
  bool freeze_norms = false;

  static constexpr auto fields() {
    return std::tuple{
        field("model", &VitOptions::model, "vit-s16, vit-b16, vit-s8, vit-tiny or vit-micro"),
        field("patch_size", &VitOptions::patch_size, "pixels per side of a patch; 0: the model's",
              between(0, 1024)),
        field("depth", &VitOptions::depth, "number of blocks; 0: the model's", between(0, 1000)),
        field("width", &VitOptions::width, "features per token; 0: the model's", between(0, 1e5)),
        field("heads", &VitOptions::heads, "attention heads per block; 0: the model's",
              between(0, 1000)),
        field("layer_scale", &VitOptions::layer_scale,
              "initial value of LayerScale (Touvron et al. 2021); none: no LayerScale",
              at_least(0)),
        field("freeze_norms", &VitOptions::freeze_norms,
              "keep normalization layers and LayerScale at their initial values")};
  }
};

struct VitShape {
  std::int64_t image_size, channels, patch_size, depth, width, heads;
};

// Resolves the options. Throws std::invalid_argument unless the image size is a multiple of the
// patch size and the width a multiple of the heads.
VitShape shape_of(const VitOptions& options, std::int64_t image_size, std::int64_t channels);

// Pre-LayerNorm blocks, exact GELU, learned positions, no class token, no dropout. Parameters are
// named as in timm's VisionTransformer where they correspond (`head` gives patches instead of
// classes). Weights are normal with standard deviation 0.02 (timm's truncation at ±2 has no
// effect), biases are 0.
class VitImpl final : public ::torch::nn::Module {
 public:
  VitImpl(const VitShape& shape, const std::optional<double>& layer_scale);
  ~VitImpl() override;

  // Maps [B, channels, S, S] to the same shape.
  at::Tensor forward(const at::Tensor& images);

  // The same with fused layers: matrix products in bf16 and residual sums in float32, as under
  // autocast. Models with LayerScale do not support it.
  bool has_fused_forward() const { return !has_layer_scale_; }
  // Parameters that matrix products read and that therefore need copies on a GPU.
  std::vector<at::Tensor> copied_parameters() const;
  at::Tensor fused_forward(const at::Tensor& images, const WeightCopies& copies);

 private:
  struct Parts;
  at::Tensor to_images(const at::Tensor& patches) const;
  VitShape shape_;
  bool has_layer_scale_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sing::lab::model
