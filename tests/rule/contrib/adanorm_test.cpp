// Checks AdamNorm against steps computed by hand, on every backend.
#include "sing/rule/contrib/adanorm.hpp"

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

AdaNorm short_adanorm() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.5, .norm_decay = 0.5, .epsilon = 0};
}

class AdaNormSteps : public test::BackendTest {};
SING_ON_BACKENDS(AdaNormSteps, test::backend_kinds());

// The gradient (3, 4) has norm 5, and the mean norm e = 2.5 is below it: m = g/2, v = g²/2, both
// corrected by 1/2, so the step is 0.1 against the sign.
TEST_P(AdaNormSteps, ALongGradientIsTakenAsItIs) {
  Trajectory path(backend_, bare_rule(short_adanorm()), {2}, {1, 1});
  expect_values(path.take({3, 4}), {0.9, 0.9}, kHandTolerance);
  expect_values(path.state(0), {1.5, 2}, kHandTolerance);
  expect_values(path.state(1), {4.5, 8}, kHandTolerance);
  expect_values(path.state(2), {2.5}, kHandTolerance);
}

// The second gradient (1, 0) has norm 1, e = 1.25 + 0.5 = 1.75: the first moment uses (1.75, 0),
// the second (1, 0). m = (1.625, 1), v = (2.75, 4), corrections 3/4.
TEST_P(AdaNormSteps, AShortGradientIsStretchedInTheFirstMomentAlone) {
  Trajectory path(backend_, bare_rule(short_adanorm()), {2}, {1, 1});
  path.take({3, 4});
  const double correction = 0.1 / 0.75 * std::sqrt(0.75);
  expect_values(path.take({1, 0}),
                {0.9 - correction * 1.625 / std::sqrt(2.75), 0.9 - correction / 2}, kHandTolerance);
  expect_values(path.state(0), {1.625, 1}, kHandTolerance);
  expect_values(path.state(1), {2.75, 4}, kHandTolerance);
  expect_values(path.state(2), {1.75}, kHandTolerance);
}

TEST_P(AdaNormSteps, AZeroGradientStaysZero) {
  Trajectory path(backend_, bare_rule(short_adanorm()), {2}, {1, 1});
  path.take({3, 4});
  path.take({0, 0});
  expect_values(path.state(0), {0.75, 1}, kHandTolerance);
  expect_values(path.state(2), {1.25}, kHandTolerance);
}

// v = 4.5 + 1/4 stays in the state; the denominator is √(2 · 4.75) + 1/4.
TEST_P(AdaNormSteps, TheEpsilonStaysInTheState) {
  AdaNorm rule = short_adanorm();
  rule.epsilon = 0.25;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({3}), {1 - 0.3 / (std::sqrt(9.5) + 0.25)}, kHandTolerance);
  expect_values(path.state(1), {4.75}, kHandTolerance);
}

// g + p = (3, 4).
TEST_P(AdaNormSteps, DecayIsPartOfTheGradientAndItsNorm) {
  AdaNorm rule = short_adanorm();
  rule.weight_decay = 1;
  Trajectory path(backend_, bare_rule(rule), {2}, {1, 1});
  expect_values(path.take({2, 3}), {0.9, 0.9}, kHandTolerance);
  expect_values(path.state(2), {2.5}, kHandTolerance);
}

TEST_P(AdaNormSteps, DecoupledDecay) {
  AdaNorm rule = short_adanorm();
  rule.weight_decay = 1;
  rule.decoupled_decay = true;
  Trajectory path(backend_, bare_rule(rule), {2}, {1, 1});
  expect_values(path.take({3, 4}), {0.8, 0.8}, kHandTolerance);
}

}  // namespace
}  // namespace sing
