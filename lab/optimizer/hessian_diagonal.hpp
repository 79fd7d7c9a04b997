// Hutchinson's estimate of the Hessian's diagonal, for optimizers that take curvature.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sing::lab::optimizer {

// Gradients and curvature of a step whose batch comes in parts: H z of the whole batch, for signs z
// that seed and step decide, so that a resumed run draws the same ones.
class HessianDiagonal {
 public:
  HessianDiagonal(std::vector<at::Tensor> parameters, std::uint64_t seed, std::int64_t step);

  // Adds the loss's gradient to the parameters' and its H z to what was found so far. The loss must
  // be one that can be differentiated twice.
  void backward(const at::Tensor& loss);

  // |H z| of each parameter, in order; the mean of it over the window of a convolution's filter, as
  // the authors have it. A parameter that the loss does not bend along has zeros.
  std::vector<at::Tensor> diagonal() const;

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> signs_;     // ±1
  std::vector<at::Tensor> products_;  // H z
};

}  // namespace sing::lab::optimizer
