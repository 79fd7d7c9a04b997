// Checks what LibTorch provides in addition to gradients: matrix products and curvature.
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

class SecondInput : public test::DeviceTest {};
SING_ON_DEVICES(SecondInput);

// Compares one step from 0 with newton_steps of the authors' polynomial, written out. Some matrices
// have the same shape.
TEST_P(SecondInput, MuonMultipliesWithLibTorch) {
  std::vector<at::Tensor> weights;
  for (const auto& shape : {std::vector<std::int64_t>{5, 9},
                            {9, 5},
                            {4, 3, 2, 2},
                            {200, 210},
                            {200, 310},
                            {9, 5},
                            {200, 310}}) {
    const at::Tensor weight = at::zeros(shape, at::kDouble).to(device_).requires_grad_();
    test::set_gradient(weight, random(shape, at::kDouble));
    weights.push_back(weight);
  }
  Muon rule;
  rule.nesterov = false;
  torch::Optimizer optimizer(weights, test::bare(rule));
  optimizer.step();
  for (const at::Tensor& weight : weights) {
    const at::IntArrayRef shape = weight.sizes();
    at::Tensor x = weight.grad().reshape({shape[0], -1});
    const double factor =
        std::sqrt(std::max(1.0, static_cast<double>(x.size(0)) / static_cast<double>(x.size(1))));
    x = x / x.norm();
    for (int step = 0; step < 5; ++step) {
      const at::Tensor gram = at::mm(x, x.t());
      x = rule.newton_a * x + at::mm(rule.newton_b * gram + rule.newton_c * at::mm(gram, gram), x);
    }
    const at::Tensor expected = -rule.learning_rate * factor * x.reshape(shape);
    EXPECT_TRUE(at::allclose(weight.detach(), expected, 1e-9, 1e-14)) << shape;
  }
}

// The gradient's type and layout differ from the curvature's.
TEST_P(SecondInput, CurvatureReachesAdaHessian) {
  const at::Tensor weight = at::zeros({2, 3}, at::kFloat).to(device_).requires_grad_();
  const at::Tensor plain = at::zeros({2, 3}, at::kFloat).to(device_).requires_grad_();
  test::set_gradient(weight, at::ones({2, 3}, at::kFloat).to(device_));
  test::set_gradient(plain, at::full({2, 3}, 2, at::kFloat).to(device_));
  torch::Optimizer optimizer({{"w", weight}, {"plain", plain}},
                             test::bare(AdaHessian{.learning_rate = 1, .epsilon = 0}));
  const at::Tensor curvature = at::arange(1, 7, at::kDouble).to(device_).view({3, 2}).t();
  optimizer.set_curvature("w", curvature);
  optimizer.step();
  EXPECT_TRUE(at::allclose(weight.detach(), -1 / curvature.to(at::kFloat), 1e-5));
  EXPECT_TRUE(at::allclose(plain.detach(), at::full_like(plain, -1), 1e-5));
  EXPECT_THROW(optimizer.set_curvature("w", at::ones({3, 2}, device_)), std::invalid_argument);
  EXPECT_THROW(optimizer.set_curvature("v", curvature), std::invalid_argument);
  torch::Optimizer takes_none({{"w", weight}}, test::bare(Lion{}));
  EXPECT_THROW(takes_none.set_curvature("w", curvature), std::invalid_argument);
}

}  // namespace
}  // namespace sing
