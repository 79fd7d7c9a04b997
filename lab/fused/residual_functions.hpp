// Declares the differentiable layers of a residual network, with few passes over memory and plain
// equivalents as in functions.hpp. Kernels need channels-last images.
#pragma once

#include "lab/fused/functions.hpp"

namespace sing::lab::fused {

struct ConvolutionPlace {
  std::int64_t stride, padding;
};

// Has no bias; the parameter gets a float32 gradient.
at::Tensor convolution(const at::Tensor& x, const Copied& weight, const ConvolutionPlace& place);

struct BatchNormParameters {
  at::Tensor gain, shift;                     // [channels]
  at::Tensor running_mean, running_variance;  // [channels], updated with `momentum`
  at::Tensor batches;                         // int64, incremented
  double momentum, epsilon;
};

enum class Activation { kNone, kRelu };

// activation(BatchNorm(x) + residual), normalized by the moments of the batch; `residual` may be
// undefined. The result is returned twice, for two readers, whose gradients the kernel adds.
std::pair<at::Tensor, at::Tensor> batch_norm(const at::Tensor& x, const BatchNormParameters& norm,
                                             Activation activation,
                                             const at::Tensor& residual = {});

}  // namespace sing::lab::fused
