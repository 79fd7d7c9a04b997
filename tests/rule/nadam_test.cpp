// Checks NAdam against steps computed by hand, on every backend.
#include "sing/rule/nadam.hpp"

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

NAdam half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0, .momentum_decay = 0};
}

class NAdamSteps : public test::BackendTest {};
SING_ON_BACKENDS(NAdamSteps, test::backend_kinds());

// The gradients 2, 1 give m = 1, 1 and v = 1, 1, so √v̂ = 2, 4/√7. Without momentum decay μ = 1/4:
//   t   μ/(1 − μᵗ⁺¹)   (1 − μ)/(1 − μᵗ)   step / 0.1
//   1   4/15           1                  (4/15 + 2)/2
//   2   16/63          4/5                (16/63 + 4/5)/(4/√7)
TEST_P(NAdamSteps, ConstantMomentum) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  const double first = 1 - 0.1 * 17.0 / 15;
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({1}), {first - 0.1 * 83 * std::sqrt(7.0) / 315}, kHandTolerance);
  expect_values(path.state(0), {1}, kHandTolerance);
  expect_values(path.state(1), {1}, kHandTolerance);
}

// 0.96^ψ = 1/2: μ = 3/8, 7/16, 15/32 with the products 3/8, 21/128, 315/4096.
TEST_P(NAdamSteps, RisingMomentum) {
  NAdam rule = half_and_three_quarters();
  rule.momentum_decay = std::log(0.5) / std::log(0.96);
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  const double first = 1 - 0.1 * (56.0 / 107 + 2) / 2;
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({1}), {first - 0.1 * (1920.0 / 3781 + 72.0 / 107) * std::sqrt(7.0) / 4},
                kHandTolerance);
}

// With ε = 0 and g = 1 throughout, v̂ = 1 and m = 1 − β1ᵗ: only the products of μ remain. The rule
// computes them without storing any; this test multiplies them. 0.99 · … is not yet 0 after 400
// steps.
TEST_P(NAdamSteps, TheProductOfTheMomentaIsExactAtAnyStep) {
  for (const double momentum_decay : {0.0, 4e-3, 0.5, 40.0}) {
    NAdam rule{.learning_rate = 0.1, .beta1 = 0.99, .epsilon = 0, .momentum_decay = momentum_decay};
    Trajectory path(backend_, bare_rule(rule), {1}, {1});
    const auto momentum = [&](int step) {
      return 0.99 * (1 - 0.5 * std::pow(0.96, step * momentum_decay));
    };
    double product = 1;
    double before = 1;
    for (int step = 1; step <= 400; ++step) {
      product *= momentum(step);
      const double next = momentum(step + 1);
      const double expected = 0.1 * (next * (1 - std::pow(0.99, step)) / (1 - product * next) +
                                     (1 - momentum(step)) / (1 - product));
      const double after = path.take({1})[0];
      // The moments are running sums of up to 400 roundings, and the parameter reaches −40.
      ASSERT_NEAR(before - after, expected, 1e-13) << momentum_decay << " step " << step;
      before = after;
    }
  }
}

// L2: 1 + 1 · p = 2 is the first test's gradient. Decoupled: 0.9 · p before the step.
TEST_P(NAdamSteps, BothKindsOfDecay) {
  NAdam rule = half_and_three_quarters();
  rule.weight_decay = 1;
  Trajectory l2(backend_, bare_rule(rule), {1}, {1});
  expect_values(l2.take({1}), {1 - 0.1 * 17.0 / 15}, kHandTolerance);
  rule.decoupled_decay = true;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {1});
  expect_values(decoupled.take({2}), {0.9 - 0.1 * 17.0 / 15}, kHandTolerance);
}

TEST_P(NAdamSteps, WithoutMomentum) {
  NAdam rule = half_and_three_quarters();
  rule.beta1 = 0;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({2}), {0.9}, kHandTolerance);
}

}  // namespace
}  // namespace sing
