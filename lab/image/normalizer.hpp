// Normalizes pixel values to mean 0 and standard deviation 1 in each channel.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace sing::lab::image {

// Moments of values of 0 … 255, one per channel.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> deviation;
};

class Normalizer {
 public:
  Normalizer(const Normalization& normalization, at::Device device);

  // Takes [B, C, H, W]. One subtraction and one product, each rounded once, give the same floats on
  // every device.
  at::Tensor normalized(const at::Tensor& values) const;
  at::Tensor values_of(const at::Tensor& normalized) const;

  const at::Tensor& mean() const { return mean_; }
  const at::Tensor& scale() const { return scale_; }

 private:
  at::Tensor mean_, scale_;  // float [1, C, 1, 1]
};

}  // namespace sing::lab::image
