// The layers of a residual network as few passes over memory, differentiable; each beside its plain
// twin, as in functions.hpp. Images have channels innermost where a kernel is to take them.
#pragma once

#include "lab/fused/functions.hpp"

namespace sing::lab::fused {

struct ConvolutionPlace {
  std::int64_t stride, padding;
};

// Without bias; the parameter gets a float32 gradient.
at::Tensor convolution(const at::Tensor& x, const Copied& weight, const ConvolutionPlace& place);

struct BatchNormParameters {
  at::Tensor gain, shift;                     // [channels]
  at::Tensor running_mean, running_variance;  // [channels], moved by `momentum`
  at::Tensor batches;                         // int64, counted up
  double momentum, epsilon;
};

enum class Activation { kNone, kRelu };

// activation(BatchNorm(x) + residual), normalized by the batch's own moments; `residual` may be
// undefined. The result comes twice, for two readers: their gradients meet in the kernel.
std::pair<at::Tensor, at::Tensor> batch_norm(const at::Tensor& x, const BatchNormParameters& norm,
                                             Activation activation,
                                             const at::Tensor& residual = {});

}  // namespace sing::lab::fused
