// Checks EAdam against steps computed by hand, on every backend.
#include "sing/rule/contrib/eadam.hpp"

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

EAdam half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.25};
}

class EAdamSteps : public test::BackendTest {};
SING_ON_BACKENDS(EAdamSteps, test::backend_kinds());

//   t   g   m   v = 3/4 v + 1/4 g² + 1/4   √(1 − β2ᵗ)/(1 − β1ᵗ)   step / 0.1
//   1   2   1   5/4                        1                      2/√5
//   2   1   1   23/16                      √7/3                   4√7/(3√23)
TEST_P(EAdamSteps, EpsilonStaysInTheSecondMoment) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  const double first = 1 - 0.2 / std::sqrt(5.0);
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.take({1}), {first - 0.4 * std::sqrt(7.0) / (3 * std::sqrt(23.0))},
                kHandTolerance);
  expect_values(path.state(1), {1.4375}, kHandTolerance);
}

// L2: −1 + 3 · p = 2. Decoupled: 0.7 · p.
TEST_P(EAdamSteps, BothKindsOfDecay) {
  EAdam rule = half_and_three_quarters();
  rule.weight_decay = 3;
  Trajectory l2(backend_, bare_rule(rule), {1}, {1});
  expect_values(l2.take({-1}), {1 - 0.2 / std::sqrt(5.0)}, kHandTolerance);
  rule.decoupled_decay = true;
  Trajectory decoupled(backend_, bare_rule(rule), {1}, {1});
  expect_values(decoupled.take({2}), {0.7 - 0.2 / std::sqrt(5.0)}, kHandTolerance);
}

// A gradient that is always 0 leaves the parameter unchanged.
TEST_P(EAdamSteps, ZeroGradients) {
  Trajectory path(backend_, bare_rule(EAdam{.learning_rate = 0.1, .epsilon = 1e-30}), {1}, {1});
  expect_values(path.take({0}), {1}, 0);
}

}  // namespace
}  // namespace sing
