// Checks LAMB against steps computed by hand, on every backend.
#include "sing/rule/lamb.hpp"

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

const double kRoot = std::sqrt(0.5);

// Betas of 1/2 and no epsilon keep the numbers short.
Lamb short_lamb() {
  return {
      .learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 0, .norm_limit = std::nullopt};
}

// p = (3, 4) has norm 5 and gets the gradient (1, 2): m = (1/2, 1), v = (1/2, 2), u = m / √v = (√½,
// √½) with norm 1, so the trust ratio is 5.
class LambSteps : public test::BackendTest {
 protected:
  test::Values first_step(const Lamb& rule, const test::Values& start = {3, 4}) {
    Trajectory path(backend_, bare_rule(rule), {2}, start);
    return path.take({1, 2});
  }
};
SING_ON_BACKENDS(LambSteps, test::backend_kinds());

TEST_P(LambSteps, TheStepHasTheSizeOfTheParameter) {
  expect_values(first_step(short_lamb()), {3 - 0.5 * kRoot, 4 - 0.5 * kRoot}, kHandTolerance);
}

// The second gradient is (−1, 0): m = (−1/4, 1/2), v = (3/4, 1), u = (−1/√12, 1/2), ‖u‖ = √(1/3).
TEST_P(LambSteps, SecondStep) {
  Trajectory path(backend_, bare_rule(short_lamb()), {2}, {3, 4});
  const test::Values first = path.take({1, 2});
  const double step = 0.1 * std::hypot(first[0], first[1]) * std::sqrt(3.0);
  expect_values(path.take({-1, 0}), {first[0] + step / std::sqrt(12.0), first[1] - step / 2},
                kHandTolerance);
  expect_values(path.state(0), {-0.25, 0.5}, kHandTolerance);
  expect_values(path.state(1), {0.75, 1}, kHandTolerance);
}

TEST_P(LambSteps, TheNormTakenHasALimit) {
  Lamb rule = short_lamb();
  rule.norm_limit = 2;
  expect_values(first_step(rule), {3 - 0.2 * kRoot, 4 - 0.2 * kRoot}, kHandTolerance);
}

TEST_P(LambSteps, AZeroParameterTakesThePlainStep) {
  expect_values(first_step(short_lamb(), {0, 0}), {-0.1 * kRoot, -0.1 * kRoot}, kHandTolerance);
}

// u = (√½ + 3/2, √½ + 2).
TEST_P(LambSteps, DecayIsPartOfTheNorm) {
  Lamb rule = short_lamb();
  rule.weight_decay = 0.5;
  const double step = 0.5 / std::hypot(kRoot + 1.5, kRoot + 2);
  expect_values(first_step(rule), {3 - step * (kRoot + 1.5), 4 - step * (kRoot + 2)},
                kHandTolerance);
}

// First, p is multiplied by 1 − 0.1 · 0.5 = 0.95; its norm is then 4.75.
TEST_P(LambSteps, DecoupledDecayComesBeforeTheNorm) {
  Lamb rule = short_lamb();
  rule.weight_decay = 0.5;
  rule.decoupled_decay = true;
  expect_values(first_step(rule), {2.85 - 0.475 * kRoot, 3.8 - 0.475 * kRoot}, kHandTolerance);
}

// m̂ = g and v̂ = g², so u = (1, 1) and the ratio is 5/√2.
TEST_P(LambSteps, BiasCorrection) {
  Lamb rule = short_lamb();
  rule.bias_correction = true;
  expect_values(first_step(rule), {3 - 0.5 * kRoot, 4 - 0.5 * kRoot}, kHandTolerance);
  rule.epsilon = 1;  // u = (1/2, 2/3)
  const double step = 0.5 / std::hypot(1.0 / 2, 2.0 / 3);
  expect_values(first_step(rule), {3 - step / 2, 4 - step * 2 / 3}, kHandTolerance);
}

TEST_P(LambSteps, WithoutDecayThereIsNoRatioIfRequested) {
  Lamb rule = short_lamb();
  rule.always_adapt = false;
  expect_values(first_step(rule), {3 - 0.1 * kRoot, 4 - 0.1 * kRoot}, kHandTolerance);
  rule.weight_decay = 1e-300;
  expect_values(first_step(rule), {3 - 0.5 * kRoot, 4 - 0.5 * kRoot}, kHandTolerance);
}

}  // namespace
}  // namespace sing
