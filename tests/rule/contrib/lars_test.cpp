// Checks LARS against steps computed by hand, on every backend.
#include "sing/rule/contrib/lars.hpp"

#include <gtest/gtest.h>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;

// p = (3, 4), with norm 5, gets the gradient (6, 8), with norm 10. With decay 1/2 the ratio is 0.1
// · 5 / (10 + 2.5 + 0) = 0.04, times g + p/2 = (7.5, 10): d = (0.3, 0.4).
class LarsSteps : public test::BackendTest {};
SING_ON_BACKENDS(LarsSteps, test::backend_kinds());

Lars short_lars() {
  return {.learning_rate = 0.5,
          .momentum = 0.5,
          .weight_decay = 0.5,
          .trust_coefficient = 0.1,
          .epsilon = 0};
}

TEST_P(LarsSteps, WithMomentum) {
  Trajectory path(backend_, bare_rule(short_lars()), {2}, {3, 4});
  expect_values(path.take({6, 8}), {2.85, 3.8}, kHandTolerance);
  // ‖p‖ = 4.75, g = (0, 1): ratio 0.475 / 3.375, d = ratio · (1.425, 2.9), m = (0.15, 0.2) + d.
  const double ratio = 0.475 / 3.375;
  const double m[] = {0.15 + ratio * 1.425, 0.2 + ratio * 2.9};
  expect_values(path.take({0, 1}), {2.85 - m[0] / 2, 3.8 - m[1] / 2}, kHandTolerance);
  expect_values(path.state(0), {m[0], m[1]}, kHandTolerance);
}

TEST_P(LarsSteps, WithoutMomentumThereIsNoState) {
  Lars rule = short_lars();
  rule.momentum = 0;
  Trajectory path(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(path.take({6, 8}), {2.85, 3.8}, kHandTolerance);
  EXPECT_TRUE(path.optimizer().state(0).empty());
}

// The first step is d + m/2 = 1.5 d.
TEST_P(LarsSteps, Nesterov) {
  Lars rule = short_lars();
  rule.nesterov = true;
  Trajectory path(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(path.take({6, 8}), {3 - 0.225, 4 - 0.3}, kHandTolerance);
}

// The ratio is 0.1 · 5 / (10 + 2.5 + 12.5) = 0.02.
TEST_P(LarsSteps, TheEpsilonIsInTheDenominator) {
  Lars rule = short_lars();
  rule.epsilon = 12.5;
  Trajectory path(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(path.take({6, 8}), {2.925, 3.9}, kHandTolerance);
}

TEST_P(LarsSteps, WithoutDecayThereIsNoRatioUnlessRequested) {
  Lars rule = short_lars();
  rule.weight_decay = 0;
  Trajectory plain(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(plain.take({6, 8}), {0, 0}, kHandTolerance);
  rule.always_adapt = true;  // 0.1 · 5 / 10
  Trajectory adapted(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(adapted.take({6, 8}), {2.85, 3.8}, kHandTolerance);
}

TEST_P(LarsSteps, AZeroParameterOrGradientHasRatioOne) {
  Trajectory at_zero(backend_, bare_rule(short_lars()), {2}, {0, 0});
  expect_values(at_zero.take({6, 8}), {-3, -4}, kHandTolerance);
  Trajectory flat(backend_, bare_rule(short_lars()), {2}, {3, 4});
  expect_values(flat.take({0, 0}), {2.25, 3}, kHandTolerance);
}

// p · 0.75 = (2.25, 3) has norm 3.75; the ratio 0.1 · 3.75 / 10 times g is (0.225, 0.3).
TEST_P(LarsSteps, DecoupledDecayComesBeforeTheNorm) {
  Lars rule = short_lars();
  rule.decoupled_decay = true;
  Trajectory path(backend_, bare_rule(rule), {2}, {3, 4});
  expect_values(path.take({6, 8}), {2.25 - 0.1125, 3 - 0.15}, kHandTolerance);
}

}  // namespace
}  // namespace sing
