// Checks AdaBound against steps computed by hand, on every backend.
#include "sing/rule/adabound.hpp"

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

AdaBound half_and_three_quarters() {
  return {.learning_rate = 0.1,
          .beta1 = 0.5,
          .beta2 = 0.75,
          .epsilon = 0,
          .final_learning_rate = 0.5,
          .gamma = 1};
}

class AdaBoundSteps : public test::BackendTest {};
SING_ON_BACKENDS(AdaBoundSteps, test::backend_kinds());

// The bounds are 1/4 and 1, then 1/3 and 3/4. A step's size is 0.1 · (1, √7/3) / √v:
//   g      m       v          size                  step
//   2      1       1          0.1     → 1/4         1/4
//   1      1       1          0.088   → 1/3         1/3
//   1/2    1/4     1/16       0.4                   0.1
//   0      1/8     3/64       0.8√7/(3√3) = 0.407   0.1 √7/(3√3)
//   0.1    0.05    0.0025     2       → 1           0.05
//   0      0.025   0.001875   2.04    → 3/4         0.01875
TEST_P(AdaBoundSteps, SizesAreHeldBetweenBoundsThatClose) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {3}, {1, 1, 1});
  expect_values(path.take({2, 0.5, 0.1}), {0.75, 0.9, 0.95}, kHandTolerance);
  expect_values(path.take({1, 0, 0}),
                {0.75 - 1.0 / 3, 0.9 - 0.1 * std::sqrt(7.0) / (3 * std::sqrt(3.0)), 0.93125},
                kHandTolerance);
}

// A schedule's factor of 1/2 also halves the bounds: 1/8 for the first element above.
TEST_P(AdaBoundSteps, TheScheduleMovesTheBounds) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  path.optimizer().set_learning_rate_factor(0.5);
  expect_values(path.take({2}), {0.875}, kHandTolerance);
}

// A learning rate that is half of the one that the bounds are made for has the same effect.
TEST_P(AdaBoundSteps, AGivenBaseStaysWhenTheLearningRateChanges) {
  AdaBound rule = half_and_three_quarters();
  rule.base_learning_rate = 0.1;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  path.optimizer().set_learning_rate(0.05);
  expect_values(path.take({2}), {0.875}, kHandTolerance);
}

// ε: 0.1/(1/4 + 1/4) = 0.2 is below the bound 1/4 for g = 1/2. L2: −1/2 + 1 · p = 1/2.
TEST_P(AdaBoundSteps, EpsilonAndBothKindsOfDecay) {
  AdaBound rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  rule.weight_decay = 1;
  Trajectory l2(backend_, bare_rule(rule), {1}, {1});
  expect_values(l2.take({-0.5}), {1 - 0.25 * 0.25}, kHandTolerance);
  rule.decoupled_decay = true;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {1});
  expect_values(decoupled.take({0.5}), {0.9 - 0.25 * 0.25}, kHandTolerance);
}

}  // namespace
}  // namespace sing
