// Checks AdamW against steps computed by hand, on every backend.
#include "sing/rule/adamw.hpp"

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

// β1 = 1/2, β2 = 3/4, rate 0.1; gradients 2, 1, 0 from p = 1 give
//   t   m     v     m̂ = m/(1−β1ᵗ)   v̂ = v/(1−β2ᵗ)    √v̂
//   1   1     1     2                4                2
//   2   1     1     4/3              16/7             1.5118578920369088
//   3   1/2   3/4   4/7              48/37            1.138989594902999
AdamW rule_of_the_table() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0};
}

class AdamWSteps : public test::BackendTest {
 protected:
  void expect_path(const AdamW& rule, double first, double second, double third) {
    Trajectory path(backend_, bare_rule(rule), {1}, {1});
    expect_values(path.take({2}), {first}, kHandTolerance);
    expect_values(path.take({1}), {second}, kHandTolerance);
    expect_values(path.take({0}), {third}, kHandTolerance);
  }
};
SING_ON_BACKENDS(AdamWSteps, test::backend_kinds());

// 2/2 = 1; (4/3)/√(16/7) = √7/3; (4/7)/√(48/37).
TEST_P(AdamWSteps, BiasCorrected) {
  const double second = 0.9 - 0.1 * std::sqrt(7.0) / 3;
  expect_path(rule_of_the_table(), 0.9, second, second - 0.1 * (4.0 / 7) / std::sqrt(48.0 / 37));
}

// The denominators are 2.5, 2.0118578920369088, 1.638989594902999: ε is added outside the root and
// is not corrected. The steps are 0.08, 0.0662737332796, 0.0348646857311.
TEST_P(AdamWSteps, Epsilon) {
  AdamW rule = rule_of_the_table();
  rule.epsilon = 0.5;
  expect_path(rule, 0.92, 0.8537262667203896, 0.8188615809892767);
}

// First, p is multiplied by 1 − 0.1 · 0.5 = 0.95: 0.95 − 0.08 = 0.87, 0.8265 − 0.0662737332796,
// 0.72221495338437 − 0.0348646857311.
TEST_P(AdamWSteps, DecoupledDecay) {
  AdamW rule = rule_of_the_table();
  rule.epsilon = 0.5;
  rule.weight_decay = 0.5;
  expect_path(rule, 0.87, 0.7602262667203896, 0.6873502676532572);
}

// The softplus₂ of the roots is ln(1+e⁴)/2 = 2.0090749639589047, 1.535595503975279,
// 1.1877757285217525.
TEST_P(AdamWSteps, SoftplusReplacesRootPlusEpsilon) {
  AdamW rule = rule_of_the_table();
  rule.softplus_beta = 2;
  rule.epsilon = 0.5;  // unused under softplus
  expect_path(rule, 0.9004516986235805, 0.8136232773445613, 0.765514147168973);
}

// 50 · √v̂ is above 20 in all three steps, where softplus equals the root.
TEST_P(AdamWSteps, SoftplusIsLinearFarFromZero) {
  AdamW rule = rule_of_the_table();
  rule.softplus_beta = 50;
  const double second = 0.9 - 0.1 * std::sqrt(7.0) / 3;
  expect_path(rule, 0.9, second, second - 0.1 * (4.0 / 7) / std::sqrt(48.0 / 37));
}

// With a zero gradient from the start, m = v = 0 and softplus₅₀(0) = ln2/50, so p does not change
// and nothing is NaN.
TEST_P(AdamWSteps, SoftplusOfZero) {
  AdamW rule = rule_of_the_table();
  rule.softplus_beta = 50;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({0}), {1}, 0);
  // g = 1e-3: m̂ = (1/2 · 1e-3)/(3/4), v̂ = (1e-6/4)/(7/16), βx = 50 · √v̂ = 0.0377964473.
  const double root = std::sqrt(1e-6 / 4 / (7.0 / 16));
  const double softplus = std::log1p(std::exp(50 * root)) / 50;
  expect_values(path.take({1e-3}), {1 - 0.1 * (1e-3 / 2 / 0.75) / softplus}, kHandTolerance);
}

TEST_P(AdamWSteps, StateIsTheTwoMoments) {
  Trajectory path(backend_, bare_rule(rule_of_the_table()), {1}, {1});
  path.take({2});
  path.take({1});
  path.take({0});
  expect_values(path.state(0), {0.5}, kHandTolerance);
  expect_values(path.state(1), {0.75}, kHandTolerance);
}

// With the defaults, the first step of any gradient is the learning rate times its sign.
TEST_P(AdamWSteps, FirstStepIsTheLearningRate) {
  Trajectory path(backend_, bare_rule(AdamW{.learning_rate = 0.25, .epsilon = 0}), {3}, {0, 0, 0});
  expect_values(path.take({1e-6, -3, 700}), {-0.25, 0.25, -0.25}, kHandTolerance);
}

// L2: −1 + 3 · p = 2, which without ε gives a step of the learning rate and m = (1 − 1/2) · 2.
TEST_P(AdamWSteps, L2Decay) {
  const AdamW rule{.learning_rate = 0.1,
                   .beta1 = 0.5,
                   .beta2 = 0.75,
                   .epsilon = 0,
                   .weight_decay = 3,
                   .decoupled_decay = false};
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({-1}), {0.9}, kHandTolerance);
  expect_values(path.state(0), {1}, kHandTolerance);
  expect_values(path.state(1), {1}, kHandTolerance);
}

}  // namespace
}  // namespace sing
