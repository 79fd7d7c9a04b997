// Checks SAdam against steps computed by hand, on every backend.
#include "sing/rule/contrib/sadam.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;

SAdam half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0, .softplus_beta = 2};
}

// The values are softplus₂(x) = ln(1 + e²ˣ)/2 at 2, at 1 and at √3/2.
const double kOfTwo = std::log1p(std::exp(4.0)) / 2;
const double kOfOne = std::log1p(std::exp(2.0)) / 2;
const double kOfLess = std::log1p(std::exp(std::sqrt(3.0))) / 2;

class SAdamSteps : public test::BackendTest {};
SING_ON_BACKENDS(SAdamSteps, test::backend_kinds());

// The gradients 4, 0 give m = 2, 1 and v = 4, 3, whose largest values so far are 4, 4. The step
// sizes are 0.1 √(1 − β2ᵗ)/(1 − β1ᵗ) = 0.1, 0.1 √7/3; the root is not corrected.
TEST_P(SAdamSteps, SoftplusOfTheLargestSecondMoment) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  const double first = 1 - 0.2 / kOfTwo;
  expect_values(path.take({4}), {first}, kHandTolerance);
  expect_values(path.take({0}), {first - 0.1 * std::sqrt(7.0) / 3 / kOfTwo}, kHandTolerance);
  expect_values(path.state(0), {1}, kHandTolerance);
  expect_values(path.state(1), {3}, kHandTolerance);
  expect_values(path.state(2), {4}, kHandTolerance);
}

// The gradients 2, 0 give m = 1, 1/2 and v = 1, 3/4.
TEST_P(SAdamSteps, WithoutAmsgradTheSecondMomentItself) {
  SAdam rule = half_and_three_quarters();
  rule.amsgrad = false;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  const double first = 1 - 0.1 / kOfOne;
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({0}), {first - 0.05 * std::sqrt(7.0) / 3 / kOfLess}, kHandTolerance);
  EXPECT_EQ(path.optimizer().state(0).size(), 2U);
}

// Without softplus: root + epsilon = 1 + 1/4. L2: 1 + 1 · p = 2. Decoupled: 0.9 · p.
TEST_P(SAdamSteps, EpsilonAndBothKindsOfDecay) {
  SAdam rule = half_and_three_quarters();
  rule.softplus_beta.reset();
  rule.epsilon = 0.25;
  rule.weight_decay = 1;
  Trajectory l2(backend_, bare_rule(rule), {1}, {1});
  expect_values(l2.take({1}), {1 - 0.1 / 1.25}, kHandTolerance);
  rule.decoupled_decay = true;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {1});
  expect_values(decoupled.take({2}), {0.9 - 0.1 / 1.25}, kHandTolerance);
}

}  // namespace
}  // namespace sing
