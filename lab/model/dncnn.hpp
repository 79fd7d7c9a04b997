// Defines the denoising network of Zhang et al. 2017 (DnCNN), which predicts the noise of an image.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::model {

struct DncnnOptions {
  std::int64_t depth = 17;
  std::int64_t width = 64;
  bool freeze_norms = false;

  static constexpr auto fields() {
    using D = DncnnOptions;
    return std::tuple{
        field("depth", &D::depth, "number of convolutions", between(3, 1000)),
        field("width", &D::width, "channels between them", between(1, 4096)),
        field("freeze_norms", &D::freeze_norms,
              "keep the scales and shifts of batch normalization at their initial values")};
  }
};

// 3 × 3 convolutions of stride 1: the first with bias and ReLU, the inner ones with batch
// normalization and ReLU, the last with bias alone. Weights are Kaiming-normal over the inputs, and
// biases are 0.
class DncnnImpl final : public ::torch::nn::Module {
 public:
  DncnnImpl(const DncnnOptions& options, std::int64_t channels);
  ~DncnnImpl() override;

  // Maps noisy images [B, channels, H, W] to their noise.
  at::Tensor forward(const at::Tensor& images);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sing::lab::model
