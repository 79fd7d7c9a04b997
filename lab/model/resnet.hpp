// Residual networks of basic blocks for image classification (He et al. 2016).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "lab/model/weight_copies.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::model {

enum class ResnetSize : std::int32_t { kResnet18, kResnet34 };

constexpr auto enum_names(ResnetSize) {
  return std::to_array<EnumName<ResnetSize>>(
      {{ResnetSize::kResnet18, "resnet18"}, {ResnetSize::kResnet34, "resnet34"}});
}

// kImagenet: 7 × 7 convolution of stride 2 and a pooling of stride 2. kCifar: 3 × 3, neither.
enum class Stem : std::int32_t { kImagenet, kCifar };

constexpr auto enum_names(Stem) {
  return std::to_array<EnumName<Stem>>({{Stem::kImagenet, "imagenet"}, {Stem::kCifar, "cifar"}});
}

struct ResnetOptions {
  ResnetSize model = ResnetSize::kResnet18;
  std::int64_t width = 64;
  Stem stem = Stem::kImagenet;
  bool blurpool = false;
  bool freeze_norms = false;

  static constexpr auto fields() {
    using R = ResnetOptions;
    return std::tuple{
        field("model", &R::model, "resnet18 or resnet34"),
        field("width", &R::width, "channels of the first blocks", between(1, 4096)),
        field("stem", &R::stem, "imagenet: 7 x 7, stride 2, pooling; cifar: 3 x 3"),
        field("blurpool", &R::blurpool, "blur before each convolution of stride 2, as FFCV does"),
        field("freeze_norms", &R::freeze_norms,
              "leave the scales and shifts of batch normalization as they start")};
  }
};

// Parameters, buffers and first weights as in torchvision's resnet18 and resnet34. With `blurpool`
// what a convolution of stride 2 and at least 16 input channels is given is smoothed first, by
// [1 2 1] ⊗ [1 2 1] / 16 with zeros around it (libffcv/ffcv-imagenet); that adds no parameter.
// `freeze_norms` is for the owner to carry out (freeze_norms in lab/model/vit.hpp).
class ResnetImpl final : public ::torch::nn::Module {
 public:
  ResnetImpl(const ResnetOptions& options, std::int64_t channels, std::int64_t classes);
  ~ResnetImpl() override;

  // [B, channels, H, W] to [B, classes].
  at::Tensor forward(const at::Tensor& images);

  // The same in training from fused layers, with convolutions and activations in bf16. The copies
  // are those of copied_parameters().
  std::vector<at::Tensor> copied_parameters() const;
  at::Tensor fused_forward(const at::Tensor& images, const WeightCopies& copies);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Weights of convolutions with channels innermost, as GPUs read them fastest. Values and names
// stay.
void to_channels_last(::torch::nn::Module& model);

}  // namespace sing::lab::model
