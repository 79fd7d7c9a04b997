// Computes Hutchinson's estimate of the Hessian's diagonal, for optimizers that use curvature.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sing::lab::optimizer {

// Gradients and curvature of a step whose batch comes in parts: H z of the whole batch, where the
// signs z depend on seed and step only, so that a resumed run draws the same signs.
class HessianDiagonal {
 public:
  HessianDiagonal(std::vector<at::Tensor> parameters, std::uint64_t seed, std::int64_t step);

  // Adds the gradient of the loss to the parameters' gradients, and its H z to the sum so far. The
  // loss must be twice differentiable.
  void backward(const at::Tensor& loss);

  // The sums H z so far, for processes that average them over their parts of a batch.
  const std::vector<at::Tensor>& products() const { return products_; }

  // Returns |H z| of each parameter, in order, averaged over the window of a convolution's filter
  // as the authors do. A parameter without curvature has zeros.
  std::vector<at::Tensor> diagonal() const;

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> signs_;     // ±1
  std::vector<at::Tensor> products_;  // H z
};

}  // namespace sing::lab::optimizer
