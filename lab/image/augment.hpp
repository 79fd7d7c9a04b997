// Declares the augmentation of small images: tensor functions on the CPU, one kernel on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include "lab/image/normalizer.hpp"

namespace sing::lab::image {

// Holds the data that is the same for all batches, on the device.
class Augmenter {
 public:
  // Without `rotates` no image is rotated, which takes a quarter of the work.
  Augmenter(const Normalization& normalization, std::int64_t size, bool rotates, at::Device device);

  // Takes `pixels`, uint8 [N, C, S, S], and rows of augment_parameters.hpp, int32 [B, kColumns],
  // and returns floats [B, C, S, S] that are cropped with black padding, flipped, rotated about the
  // center with black corners, and normalized. Coordinates and weights are integers, so that CPU
  // and GPU give the same floats; coordinates are rounded to 1/2048 of a pixel. On a GPU the result
  // is channels-last.
  at::Tensor operator()(const at::Tensor& pixels, const at::Tensor& rows) const;

  const Normalizer& normalizer() const { return normalizer_; }

 private:
  at::Tensor in_one_kernel(const at::Tensor& pixels, const at::Tensor& rows) const;
  at::Tensor in_tensor_functions(const at::Tensor& pixels, const at::Tensor& rows) const;

  std::int64_t size_;
  bool rotates_;
  Normalizer normalizer_;
  at::Tensor columns_, rows_;  // x and y of each pixel, int32 [1, S·S]
};

}  // namespace sing::lab::image
