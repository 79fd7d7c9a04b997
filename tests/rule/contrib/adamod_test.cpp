// Checks AdaMod against steps computed by hand, on every backend.
#include "sing/rule/contrib/adamod.hpp"

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

AdaMod half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .beta3 = 0.5, .epsilon = 0};
}

class AdaModSteps : public test::BackendTest {};
SING_ON_BACKENDS(AdaModSteps, test::backend_kinds());

//   t   g    m      v       size a                       e = e/2 + a/2        step
//   1   2    1      1       0.1                          0.05                 e
//   2   1    1      1       0.1 √7/3 = 0.088             0.025 + 0.05 √7/3    e
//   3   10   11/2   103/4   0.1 (√37/7)/√25.75 = 0.017   0.043                11/2 a
TEST_P(AdaModSteps, SizesStayBelowTheirMean) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  expect_values(path.take({2}), {0.95}, kHandTolerance);
  const double mean = 0.025 + 0.05 * std::sqrt(7.0) / 3;
  expect_values(path.take({1}), {0.95 - mean}, kHandTolerance);
  const double size = 0.1 * std::sqrt(37.0) / 7 / std::sqrt(25.75);
  expect_values(path.take({10}), {0.95 - mean - 5.5 * size}, kHandTolerance);
  expect_values(path.state(2), {mean / 2 + size / 2}, kHandTolerance);
}

// ε = 1: size 0.1/(1 + 1) = 0.05, mean 0.025. Decoupled: 0.95 · p. L2: 1 + 0.5 · 2 = 2.
TEST_P(AdaModSteps, EpsilonAndBothKindsOfDecay) {
  AdaMod rule = half_and_three_quarters();
  rule.epsilon = 1;
  rule.weight_decay = 0.5;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {2});
  expect_values(decoupled.take({2}), {1.9 - 0.025}, kHandTolerance);
  rule.decoupled_decay = false;
  Trajectory l2(backend_, bare_rule(rule), {1}, {2});
  expect_values(l2.take({1}), {2 - 0.025}, kHandTolerance);
}

}  // namespace
}  // namespace sing
