// The pixel work of augmenting small images: tensor functions on the CPU, one kernel on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include "lab/image/normalizer.hpp"

namespace sing::lab::image {

// What does not change from batch to batch, on the device.
class Augmenter {
 public:
  // With `turns` false the cosines and sines are taken as 1 and 0, in a quarter of the work.
  Augmenter(const Normalization& normalization, std::int64_t size, bool turns, at::Device device);

  // `pixels` uint8 [N, C, S, S] and rows of augment_parameters.hpp, int32 [B, kColumns], to floats
  // [B, C, S, S]: cut out of black surroundings, mirrored, turned about the middle with black
  // beyond the edges, normalized. Coordinates and weights are whole numbers, so that CPU and GPU
  // give the same floats; places are rounded to 1/2048 of a pixel. On a GPU the result has channels
  // innermost.
  at::Tensor operator()(const at::Tensor& pixels, const at::Tensor& rows) const;

  const Normalizer& normalizer() const { return normalizer_; }

 private:
  at::Tensor in_one_kernel(const at::Tensor& pixels, const at::Tensor& rows) const;
  at::Tensor in_tensor_functions(const at::Tensor& pixels, const at::Tensor& rows) const;

  std::int64_t size_;
  bool turns_;
  Normalizer normalizer_;
  at::Tensor columns_, rows_;  // x and y of each place, int32 [1, S·S]
};

}  // namespace sing::lab::image
