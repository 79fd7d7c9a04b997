// Normalizes images with means and scales that are kept on the device.
#include "lab/image/normalizer.hpp"

#include <torch/torch.h>

namespace sing::lab::image {
namespace {

at::Tensor per_channel(const std::vector<double>& values) {
  return ::torch::tensor(values, ::torch::kDouble).view({1, -1, 1, 1});
}

}  // namespace

Normalizer::Normalizer(const Normalization& normalization, at::Device device)
    : mean_(per_channel(normalization.mean).to(device, at::kFloat)),
      scale_(per_channel(normalization.deviation).reciprocal().to(device, at::kFloat)) {}

at::Tensor Normalizer::normalized(const at::Tensor& values) const {
  return (values.to(at::kFloat) - mean_) * scale_;
}

at::Tensor Normalizer::values_of(const at::Tensor& normalized) const {
  return normalized / scale_ + mean_;
}

}  // namespace sing::lab::image
