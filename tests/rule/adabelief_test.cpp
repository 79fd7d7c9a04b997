// Checks AdaBelief against steps computed by hand, on every backend.
#include "sing/rule/adabelief.hpp"

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

AdaBelief half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0};
}

class AdaBeliefSteps : public test::BackendTest {};
SING_ON_BACKENDS(AdaBeliefSteps, test::backend_kinds());

// Gradients 2, 1 from p = 1, ε = 1/4, which stays in the belief:
//   t   m   g − m   s = 3/4 s + 1/4 (g − m)² + ε   m̂     ŝ      p
//   1   1   1       1/2                            2     2      1 − 0.1 · 2/(√2 + 1/4)
//   2   1   0       5/8                            4/3   10/7   … − 0.1 · (4/3)/(√(10/7) + 1/4)
TEST_P(AdaBeliefSteps, WithoutRectification) {
  AdaBelief rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  rule.rectify = false;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  const double first = 1 - 0.1 * 2 / (std::sqrt(2.0) + 0.25);
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({1}), {first - 0.1 * (4.0 / 3) / (std::sqrt(10.0 / 7) + 0.25)},
                kHandTolerance);
  expect_values(path.state(0), {1}, kHandTolerance);
  expect_values(path.state(1), {0.625}, kHandTolerance);
}

// The roots √2 and √(10/7) are those above, in softplus₂(x) = ln(1+e²ˣ)/2, without ε in the
// denominator.
TEST_P(AdaBeliefSteps, SoftplusWithoutRectification) {
  AdaBelief rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  rule.rectify = false;
  rule.softplus_beta = 2;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({2}), {0.8613927553287255}, kHandTolerance);
  expect_values(path.take({1}), {0.7537830206632583}, kHandTolerance);
}

// Decay multiplies p by 1 − 0.1 · 0.5 = 0.95 before the step of the first test.
TEST_P(AdaBeliefSteps, DecoupledDecay) {
  AdaBelief rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  rule.rectify = false;
  rule.weight_decay = 0.5;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  const double first = 0.95 - 0.1 * 2 / (std::sqrt(2.0) + 0.25);
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({1}), {0.95 * first - 0.1 * (4.0 / 3) / (std::sqrt(10.0 / 7) + 0.25)},
                kHandTolerance);
}

// ρ∞ = 2/(1 − 3/4) − 1 = 7 and ρ_t = 7 − 2t·0.75ᵗ/(1 − 0.75ᵗ) is 4.843 at step 7, 5.220 at step 8.
// With g = 1 throughout m̂ = 1, so the first seven steps are the learning rate; the eighth has
// g − m_t = 2⁻ᵗ, s = (0.75⁸ − 0.25⁸)/8 = 0.01251220703125,
// r = √((ρ−4)(ρ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρ)) = 0.5926172134722928 and
// step 0.1 · r · √(1 − 0.75⁸)/√s = 0.5025754968340291.
TEST_P(AdaBeliefSteps, RectificationBeginsWhereRhoReachesFive) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    expect_values(path.take({1}), {1 - 0.1 * step}, kHandTolerance);
  }
  expect_values(path.take({1}), {-0.2025754968340291}, kHandTolerance);
  expect_values(path.state(1), {0.01251220703125}, kHandTolerance);
}

// As above with ε = 1/4: s = 0.9123992919921875, and ε is added to √s before the bias correction:
// 0.1 · r · √(1 − 0.75⁸)/(√s + 1/4) = 0.0466455920802.
TEST_P(AdaBeliefSteps, RectifiedEpsilonJoinsTheUncorrectedRoot) {
  AdaBelief rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    expect_values(path.take({1}), {1 - 0.1 * step}, kHandTolerance);
  }
  expect_values(path.take({1}), {0.25335440791977476}, kHandTolerance);
}

// The step is η·r·m̂/softplus₂(√ŝ), √ŝ = 0.1179160578272281, softplus₂ = ln(1+e^0.2358)/2 = 0.409.
TEST_P(AdaBeliefSteps, RectifiedSoftplus) {
  AdaBelief rule = half_and_three_quarters();
  rule.softplus_beta = 2;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    expect_values(path.take({1}), {1 - 0.1 * step}, kHandTolerance);
  }
  expect_values(path.take({1}), {0.15510568924423027}, kHandTolerance);
}

// With β2 = 0.999, ρ_5 = 4.996 and ρ_6 = 5.994, so five steps use momentum alone.
TEST_P(AdaBeliefSteps, WithTheDefaultsRectificationBeginsAtStepSix) {
  Trajectory path(backend_, bare_rule(AdaBelief{.learning_rate = 0.1}), {1}, {1});
  double before = 1;
  for (int step = 1; step <= 5; ++step) {
    before = path.take({1})[0];
    EXPECT_NEAR(before, 1 - 0.1 * step, kHandTolerance) << step;
  }
  EXPECT_GT(std::abs(before - path.take({1})[0] - 0.1), 1e-3);
}

// L2: 1 + 1 · p is the first test's gradient 2.
TEST_P(AdaBeliefSteps, L2Decay) {
  AdaBelief rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  rule.rectify = false;
  rule.weight_decay = 1;
  rule.decoupled_decay = false;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({1}), {1 - 0.1 * 2 / (std::sqrt(2.0) + 0.25)}, kHandTolerance);
  expect_values(path.state(1), {0.5}, kHandTolerance);
}

}  // namespace
}  // namespace sing
