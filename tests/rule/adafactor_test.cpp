// Checks AdaFactor against steps computed by hand, on every backend.
#include "sing/rule/adafactor.hpp"

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

AdaFactor bare_adafactor() { return {.learning_rate = 0.1, .scale_parameter = false}; }

class AdaFactorSteps : public test::BackendTest {
 protected:
  // p = (1, 2) gets the gradients (3, 4) and (6, 0). The second moment's decay is 1 − t^−0.8:
  //   t = 1: 0, so v = (9, 16), U = g/√v = (1, 1), RMS(U) = 1;
  //   t = 2: 1 − 2^−0.8 = 0.425650822501483, v = (24.507427792459968, 6.810413160023721),
  //          U = (1.211999343312551, 0), RMS(U) = 0.8570129544499469.
  void expect_path(const AdaFactor& rule, const test::Values& first, const test::Values& second) {
    Trajectory path(backend_, bare_rule(rule), {2}, {1, 2});
    expect_values(path.take({3, 4}), first, kHandTolerance);
    expect_values(path.take({6, 0}), second, kHandTolerance);
  }
};
SING_ON_BACKENDS(AdaFactorSteps, test::backend_kinds());

TEST_P(AdaFactorSteps, Vector) {
  expect_path(bare_adafactor(), {0.9, 1.9}, {0.7788000656687449, 1.9});
}

TEST_P(AdaFactorSteps, VectorStateIsTheSecondMoment) {
  Trajectory path(backend_, bare_rule(bare_adafactor()), {2}, {1, 2});
  path.take({3, 4});
  path.take({6, 0});
  EXPECT_EQ(path.optimizer().state(0).size(), 1U);
  expect_values(path.state(0), {24.507427792459968, 6.810413160023721}, 2e-14);
}

// U is divided by RMS(U)/0.5 where that is above 1: U = (0.5, 0.5), then (√2/2, 0).
TEST_P(AdaFactorSteps, UpdatesAreClippedByTheirRootMeanSquare) {
  AdaFactor rule = bare_adafactor();
  rule.clip_threshold = 0.5;
  expect_path(rule, {0.95, 1.95}, {0.95 - 0.1 * std::sqrt(0.5), 1.95});
}

// The rate is 0.1 · RMS(p): √2.5 = 1.5811388300841898, then RMS(0.841886116991581,
// 1.841886116991581).
TEST_P(AdaFactorSteps, TheStepScalesWithTheParameter) {
  AdaFactor rule = bare_adafactor();
  rule.scale_parameter = true;
  expect_path(rule, {0.841886116991581, 1.841886116991581},
              {0.6683263573565814, 1.841886116991581});
}

// RMS(p) = 1.6e-5 is below scale_epsilon = 1e-3, which replaces it.
TEST_P(AdaFactorSteps, TheScaleHasAFloor) {
  AdaFactor rule = bare_adafactor();
  rule.scale_parameter = true;
  Trajectory path(backend_, bare_rule(rule), {2}, {1e-5, 2e-5});
  expect_values(path.take({3, 4}), {-9e-5, -8e-5}, 1e-18);
}

// The rate is min(0.9, 1/√t): 0.9, then 0.7071067811865475.
TEST_P(AdaFactorSteps, RelativeStep) {
  AdaFactor rule = bare_adafactor();
  rule.learning_rate = 0.9;
  rule.relative_step = true;
  expect_path(rule, {0.1, 1.1}, {-0.7570129544499469, 1.1});
}

// First, p is multiplied by 1 − 0.1 · RMS(p) · 0.5.
TEST_P(AdaFactorSteps, DecoupledDecayTakesTheScaledRate) {
  AdaFactor rule = bare_adafactor();
  rule.scale_parameter = true;
  rule.weight_decay = 0.5;
  expect_path(rule, {0.7628291754873715, 1.683772233983162},
              {0.5545547577578129, 1.5737296785658201});
}

// U = g/softplus₂(√v): softplus₂(3) = ln(1+e⁶)/2 = 3.0012378444.
TEST_P(AdaFactorSteps, SoftplusReplacesTheRoot) {
  AdaFactor rule = bare_adafactor();
  rule.softplus_beta = 2;
  expect_path(rule, {0.9000412444009371, 1.9000041924038913},
              {0.7788419236377437, 1.9000041924038913});
}

// A sharpness below 1 counts as well: softplus_½(x) = 2·ln(1+e^(x/2)).
TEST_P(AdaFactorSteps, SoftplusMayBeBlunt) {
  AdaFactor rule = bare_adafactor();
  rule.softplus_beta = 0.5;
  Trajectory path(backend_, bare_rule(rule), {2}, {1, 2});
  expect_values(path.take({3, 4}),
                {1 - 0.15 / std::log1p(std::exp(1.5)), 2 - 0.2 / std::log1p(std::exp(2.0))},
                kHandTolerance);
}

// square_epsilon = 1 makes v = 0² + 1 and 3² + 1: U = (0, 3/√10), RMS(U) = 0.67.
TEST_P(AdaFactorSteps, TheSquareEpsilonIsAddedBeforeTheMean) {
  AdaFactor rule = bare_adafactor();
  rule.square_epsilon = 1;
  Trajectory path(backend_, bare_rule(rule), {2}, {0, 0});
  expect_values(path.take({0, 3}), {0, -0.3 / std::sqrt(10.0)}, kHandTolerance);
}

// The (2, 3) matrix [1 2 3; 4 5 6] has row means of squares R = (14/3, 77/3), column means C =
// (17/2, 29/2, 45/2), mean(R) = 91/6, so V = R_i·C_j/mean(R) = (14 or 77)·(17, 29, 45)/91, U = g/√V
// with RMS(U) = 0.9708645 below the threshold.
TEST_P(AdaFactorSteps, Matrix) {
  Trajectory path(backend_, bare_rule(bare_adafactor()), {2, 3}, {0, 0, 0, 0, 0, 0});
  test::Values first;
  for (int i = 0; i < 6; ++i) {
    const double row = i < 3 ? 14 : 77;
    const double column = i % 3 == 0 ? 17 : i % 3 == 1 ? 29 : 45;
    first.push_back(-0.1 * (i + 1) / std::sqrt(row * column / 91));
  }
  expect_values(path.take({1, 2, 3, 4, 5, 6}), first, kHandTolerance);
  expect_values(path.state(0), {14.0 / 3, 77.0 / 3}, 2e-14);
  expect_values(path.state(1), {8.5, 14.5, 22.5}, 2e-14);
}

// The second step has [2 0 1; 0 1 3] with rest = 2^−0.8 = 0.574349177498517: means (5/3, 10/3) and
// (2, 1/2, 5), R = 0.42565·(14/3, 77/3) + 0.57435·(5/3, 10/3) = (2.943619134171114,
// 12.839535035866444), and C likewise.
TEST_P(AdaFactorSteps, MatrixSecondStep) {
  Trajectory path(backend_, bare_rule(bare_adafactor()), {2, 3}, {0, 0, 0, 0, 0, 0});
  path.take({1, 2, 3, 4, 5, 6});
  expect_values(path.take({2, 0, 1, 0, 1, 3}),
                {-0.21182417313246774, -0.09468641529479987, -0.16042371914389109,
                 -0.10546560886092878, -0.13178362099340163, -0.16389416377435018},
                kHandTolerance);
  expect_values(path.state(0), {2.943619134171114, 12.839535035866444}, 2e-14);
  expect_values(path.state(1), {4.766730346259637, 6.459111515020756, 12.448889393775945}, 2e-14);
}

// Takes the same two steps with U = g/softplus₂(√V).
TEST_P(AdaFactorSteps, MatrixSoftplus) {
  AdaFactor rule = bare_adafactor();
  rule.softplus_beta = 2;
  Trajectory path(backend_, bare_rule(rule), {2, 3}, {0, 0, 0, 0, 0, 0});
  path.take({1, 2, 3, 4, 5, 6});
  expect_values(path.take({2, 0, 1, 0, 1, 3}),
                {-0.20740980409444987, -0.09436192495242259, -0.16016854419571258,
                 -0.10545855072127147, -0.13177584858490926, -0.16389321633905435},
                kHandTolerance);
}

// One tensor holds two (2, 3) matrices: each has its own moments, but RMS(U) covers both. The
// second matrix is 10 times the first, so V is 100 times as large and U is the same.
TEST_P(AdaFactorSteps, ATensorOfRankThreeIsAStackOfMatrices) {
  Trajectory path(backend_, bare_rule(bare_adafactor()), {2, 2, 3}, test::Values(12));
  Trajectory alone(backend_, bare_rule(bare_adafactor()), {2, 3}, test::Values(6));
  const test::Values one = alone.take({1, 2, 3, 4, 5, 6});
  test::Values twice = one;
  twice.insert(twice.end(), one.begin(), one.end());
  expect_values(path.take({1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}), twice, kHandTolerance);
  EXPECT_EQ(path.state(0).size(), 4U);
  EXPECT_EQ(path.state(1).size(), 6U);
}

}  // namespace
}  // namespace sing
