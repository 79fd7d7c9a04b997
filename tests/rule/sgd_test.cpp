// Checks stochastic gradient descent against steps computed by hand, on every backend.
#include "sing/rule/sgd.hpp"

#include <gtest/gtest.h>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;

class SgdSteps : public test::BackendTest {
 protected:
  // Steps one element that starts at 1 with the gradients 0.5, -0.25, 1.
  void expect_path(const Sgd& rule, double first, double second, double third) {
    Trajectory path(backend_, bare_rule(rule), {1}, {1});
    expect_values(path.take({0.5}), {first}, kHandTolerance);
    expect_values(path.take({-0.25}), {second}, kHandTolerance);
    expect_values(path.take({1}), {third}, kHandTolerance);
  }
};
SING_ON_BACKENDS(SgdSteps, test::backend_kinds());

// 1 − 0.05 = 0.95; + 0.025; − 0.1.
TEST_P(SgdSteps, Plain) { expect_path({.learning_rate = 0.1}, 0.95, 0.975, 0.875); }

// m = 0.5, then 0.45 − 0.25 = 0.2, then 0.18 + 1 = 1.18; each step is 0.1 m.
TEST_P(SgdSteps, Momentum) {
  expect_path({.learning_rate = 0.1, .momentum = 0.9}, 0.95, 0.93, 0.812);
}

// g + 0.9 m: 0.5 + 0.45 = 0.95; −0.25 + 0.18 = −0.07; 1 + 1.062 = 2.062.
TEST_P(SgdSteps, Nesterov) {
  expect_path({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}, 0.905, 0.912, 0.7058);
}

// First, the parameter is multiplied by 1 − 0.1 · 0.5 = 0.95.
TEST_P(SgdSteps, DecoupledDecay) {
  expect_path({.learning_rate = 0.1, .weight_decay = 0.5}, 0.9, 0.88, 0.736);
}

// m = 0.5, 0.2, 1.18 as above: decay does not enter the momentum.
// 0.95 − 0.05 = 0.9; 0.855 − 0.02 = 0.835; 0.79325 − 0.118 = 0.67525.
TEST_P(SgdSteps, DecayStaysOutOfTheMomentum) {
  expect_path({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.5}, 0.9, 0.835, 0.67525);
}

TEST_P(SgdSteps, StateIsTheMomentumAndNothingWithoutOne) {
  Trajectory with(backend_, bare_rule(Sgd{.learning_rate = 0.1, .momentum = 0.9}), {1}, {1});
  with.take({0.5});
  with.take({-0.25});
  EXPECT_NEAR(with.state(0).at(0), 0.2, kHandTolerance);
  Trajectory without(backend_, bare_rule(Sgd{.learning_rate = 0.1}), {1}, {1});
  without.take({0.5});
  EXPECT_EQ(without.optimizer().state_bytes(), 0U);
}

// L2 decay enters the momentum: 1 + 0.5 · 2 = 2, p = 1.8; m = 0.5 · 2 + 1 + 0.5 · 1.8 = 2.9.
TEST_P(SgdSteps, L2Decay) {
  const Sgd rule{
      .learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.5, .decoupled_decay = false};
  Trajectory path(backend_, bare_rule(rule), {1}, {2});
  expect_values(path.take({1}), {1.8}, kHandTolerance);
  expect_values(path.take({1}), {1.51}, kHandTolerance);
}

}  // namespace
}  // namespace sing
