// Checks AdaHessian against steps computed by hand, on every backend.
#include "sing/rule/contrib/adahessian.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;

AdaHessian short_rule() { return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 0}; }

class AdaHessianSteps : public test::BackendTest {
 protected:
  // Takes one step from (1, 1) with gradient (3, 4) and the given curvature.
  test::Values step(const AdaHessian& rule, const test::Values& curvature, double loss_scale = 1) {
    test::DeviceTensor weight(backend_, Dtype::kFloat64, {2}, test::Values{1, 1});
    const test::DeviceTensor gradient(backend_, Dtype::kFloat64, {2},
                                      test::Values{3 * loss_scale, 4 * loss_scale});
    const test::DeviceTensor given(backend_, Dtype::kFloat64, {2}, curvature);
    Optimizer optimizer({weight.parameter("w", gradient)}, bare_rule(rule), backend_);
    optimizer.set_curvature(0, given.data());
    optimizer.step(loss_scale);
    return weight.values();
  }
};
SING_ON_BACKENDS(AdaHessianSteps, test::backend_kinds());

// After correction, m is the gradient and √v is the absolute value of the curvature.
TEST_P(AdaHessianSteps, TheGradientIsDividedByTheCurvature) {
  expect_values(step(short_rule(), {2, -8}), {1 - 0.15, 1 - 0.05}, kHandTolerance);
}

TEST_P(AdaHessianSteps, HalfPower) {
  AdaHessian rule = short_rule();
  rule.half_power = true;
  expect_values(step(rule, {9, -16}), {1 - 0.1, 1 - 0.1}, kHandTolerance);
}

TEST_P(AdaHessianSteps, TheLossScaleIsTakenOutOfBoth) {
  expect_values(step(short_rule(), {2 * 64, -8 * 64}, 64), {0.85, 0.95}, kHandTolerance);
}

TEST_P(AdaHessianSteps, TheEpsilonIsAddedToTheRoot) {
  AdaHessian rule = short_rule();
  rule.epsilon = 2;
  expect_values(step(rule, {1, 6}), {0.9, 0.95}, kHandTolerance);
}

TEST_P(AdaHessianSteps, Decay) {
  AdaHessian rule = short_rule();
  rule.weight_decay = 0.5;
  expect_values(step(rule, {2, 8}), {0.95 - 0.15, 0.95 - 0.05}, kHandTolerance);
  rule.decoupled_decay = false;  // gradients (3.5, 4.5)
  expect_values(step(rule, {2, 9}), {1 - 0.175, 1 - 0.05}, kHandTolerance);
}

// In the second step, g = 1 and D = 4: m = 1.5/2 + 1/2 = 1.25, v = 2/2 + 8 = 9; both are divided by
// 3/4.
TEST_P(AdaHessianSteps, SecondStep) {
  test::DeviceTensor weight(backend_, Dtype::kFloat64, {1}, test::Values{1});
  test::DeviceTensor gradient(backend_, Dtype::kFloat64, {1}, test::Values{3});
  test::DeviceTensor curvature(backend_, Dtype::kFloat64, {1}, test::Values{2});
  Optimizer optimizer({weight.parameter("w", gradient)}, bare_rule(short_rule()), backend_);
  optimizer.set_curvature(0, curvature.data());
  optimizer.step();
  gradient.set(test::Values{1});
  curvature.set(test::Values{4});
  optimizer.step();
  expect_values(weight.values(), {0.85 - 0.1 * (1.25 / 0.75) / std::sqrt(9 / 0.75)},
                kHandTolerance);
}

TEST_P(AdaHessianSteps, WithoutCurvatureItIsAdam) {
  test::Trajectory path(backend_, bare_rule(short_rule()), {2}, {1, 1});
  expect_values(path.take({3, -4}), {0.9, 1.1}, kHandTolerance);
  expect_values(path.state(1), {4.5, 8}, kHandTolerance);
}

}  // namespace
}  // namespace sing
