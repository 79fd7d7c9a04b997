// Defines residual networks of basic blocks for image classification (He et al. 2016).
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

// kImagenet: 7 × 7 convolution and pooling, both of stride 2. kCifar: 3 × 3 convolution of stride
// 1.
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
              "keep the scales and shifts of batch normalization at their initial values")};
  }
};

// Parameters, buffers and initial weights are those of torchvision's resnet18 and resnet34. With
// `blurpool` the input of each convolution with stride 2 and at least 16 input channels is smoothed
// by [1 2 1] ⊗ [1 2 1] / 16 with zero padding (libffcv/ffcv-imagenet); this adds no parameter. The
// owner of the model applies `freeze_norms` (lab/model/freeze_norms.hpp).
class ResnetImpl final : public ::torch::nn::Module {
 public:
  ResnetImpl(const ResnetOptions& options, std::int64_t channels, std::int64_t classes);
  ~ResnetImpl() override;

  // Maps [B, channels, H, W] to [B, classes].
  at::Tensor forward(const at::Tensor& images);

  // The same in training with fused layers, with convolutions and activations in bf16. `copies` are
  // copies of copied_parameters().
  std::vector<at::Tensor> copied_parameters() const;
  at::Tensor fused_forward(const at::Tensor& images, const WeightCopies& copies);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Stores the weights of convolutions channels-last, which GPUs read fastest. Values and names do
// not change.
void to_channels_last(::torch::nn::Module& model);

}  // namespace sing::lab::model
