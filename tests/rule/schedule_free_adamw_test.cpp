// Checks Schedule-Free AdamW against steps computed by hand, on every backend.
#include "sing/rule/schedule_free_adamw.hpp"

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

ScheduleFreeAdamW short_rule() {
  return {.learning_rate = 0.5, .beta1 = 0.75, .beta2 = 0.5, .epsilon = 0};
}

class ScheduleFreeSteps : public test::BackendTest {};
SING_ON_BACKENDS(ScheduleFreeSteps, test::backend_kinds());

// The first step has weight 1 in the average: c = 1, z = y = x = 1, u is the sign of the gradient,
// and all become 0.5. Then g = −2: v = (4·½)·½ + 2 = 3, corrected 3/(3/4) = 4, u = −1, c = 1/2: z =
// 0.5 + 0.5 = 1, y = 0.5 − 0.5·(1 − 0.75/2)·(−1) = 0.8125.
TEST_P(ScheduleFreeSteps, TwoSteps) {
  Trajectory path(backend_, bare_rule(short_rule()), {1}, {1});
  expect_values(path.take({2}), {0.5}, kHandTolerance);
  expect_values(path.take({-2}), {0.8125}, kHandTolerance);
  expect_values(path.state(0), {1}, kHandTolerance);
  expect_values(path.state(1), {3}, kHandTolerance);
  expect_values(path.state(2), {0.5}, kHandTolerance);
  expect_values(path.state(3), {0.5}, kHandTolerance);
}

// y = 0.8125 and z = 1, so x = y + (1 − 4/3)(z − y) = 0.75: the mean of z after each step.
TEST_P(ScheduleFreeSteps, TheAverageIsThereForEvaluationAndTheParameterComesBack) {
  test::DeviceTensor weight(backend_, Dtype::kFloat64, {1}, test::Values{1});
  test::DeviceTensor gradient(backend_, Dtype::kFloat64, {1}, test::Values{2});
  Optimizer optimizer({weight.parameter("w", gradient)}, bare_rule(short_rule()), backend_);
  optimizer.use_slow_weights();
  expect_values(weight.values(), {1}, 0);
  optimizer.use_fast_weights();
  optimizer.step();
  gradient.set(test::Values{-2});
  optimizer.step();
  const test::Values before = weight.values();
  optimizer.use_slow_weights();
  expect_values(weight.values(), {0.75}, kHandTolerance);
  optimizer.use_fast_weights();
  EXPECT_EQ(weight.values(), before);
}

// A 16-bit parameter is averaged in full precision: with a master, the average is that of the
// float32 sequence, rounded once.
TEST_P(ScheduleFreeSteps, TheAverageOfA16BitParameterIsThatOfItsMaster) {
  test::DeviceTensor weight(backend_, Dtype::kBFloat16, {1}, test::Values{1});
  test::DeviceTensor gradient(backend_, Dtype::kBFloat16, {1}, test::Values{2});
  Options options = bare_rule(short_rule());
  std::get<ScheduleFreeAdamW>(options.rule).learning_rate = 0x1p-11;
  options.master_weights = true;
  Optimizer optimizer({weight.parameter("w", gradient)}, options, backend_);
  for (int step = 0; step < 64; ++step) {
    optimizer.step();
  }
  // z falls by 2⁻¹¹ per step, so its mean is 1 − 32.5 · 2⁻¹¹ = 0.98413; the nearest bfloat16 is
  // 252/256.
  optimizer.use_slow_weights();
  EXPECT_EQ(weight.values()[0], 252.0 / 256);
}

// The rates 0.25, 0.5 give the weights 1/16 and 1/4, c = 0.8. z = 1 − 0.25 = 0.75 = y, then z =
// 1.25 and y = 0.75 + 0.5·(1 − 0.75·0.2) = 1.175.
TEST_P(ScheduleFreeSteps, WarmUp) {
  ScheduleFreeAdamW rule = short_rule();
  rule.own_warmup_steps = 2;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({2}), {0.75}, kHandTolerance);
  expect_values(path.take({-2}), {1.175}, kHandTolerance);
  expect_values(path.state(3), {0.3125}, kHandTolerance);
}

// The weights are 1 and 2 without the rate's share: c = 2/3, y = 0.5 + 0.5·(1 − 0.25) = 0.875.
TEST_P(ScheduleFreeSteps, LaterStepsMayWeighMore) {
  ScheduleFreeAdamW rule = short_rule();
  rule.step_power = 1;
  rule.rate_power = 0;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  path.take({2});
  expect_values(path.take({-2}), {0.875}, kHandTolerance);
  expect_values(path.state(3), {3}, kHandTolerance);
}

// u = 1 + 1/2 · 1.
TEST_P(ScheduleFreeSteps, Decay) {
  ScheduleFreeAdamW rule = short_rule();
  rule.weight_decay = 0.5;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {1});
  expect_values(decoupled.take({2}), {0.25}, kHandTolerance);
  rule.decoupled_decay = false;  // v = (2.5)²/2
  Trajectory inside(backend_, bare_rule(rule), {1}, {1});
  expect_values(inside.take({2}), {0.5}, kHandTolerance);
  expect_values(inside.state(1), {3.125}, kHandTolerance);
}

// A rate of 0 gives weight 0 to a first step: nothing moves and nothing is divided by 0.
TEST_P(ScheduleFreeSteps, ARateOfZeroLeavesTheWeightsAlone) {
  ScheduleFreeAdamW rule = short_rule();
  rule.learning_rate = 0;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({2}), {1}, 0);
}

}  // namespace
}  // namespace sing
