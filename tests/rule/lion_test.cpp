// Checks Lion against steps computed by hand, on every backend.
#include "sing/rule/lion.hpp"

#include <gtest/gtest.h>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;

class LionSteps : public test::BackendTest {};
SING_ON_BACKENDS(LionSteps, test::backend_kinds());

//   g      1/2 m + 1/2 g   step    m = 3/4 m + 1/4 g
//   2      1               −0.1    1/2
//   −1/2   0               0       1/4
//   −1     −3/8            +0.1    −1/16
TEST_P(LionSteps, StepsOfOneSize) {
  const Lion rule{.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75};
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  expect_values(path.take({2}), {0.9}, kHandTolerance);
  expect_values(path.take({-0.5}), {0.9}, kHandTolerance);
  expect_values(path.state(0), {0.25}, kHandTolerance);
  expect_values(path.take({-1}), {1}, kHandTolerance);
  expect_values(path.state(0), {-0.0625}, kHandTolerance);
}

// Decoupled: 0.95 · p. L2: −1 + 0.5 · 4 > 0 > −3 + 0.5 · 4.
TEST_P(LionSteps, BothKindsOfDecay) {
  Lion rule{.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5};
  Trajectory decoupled(backend_, bare_rule(rule), {2}, {4, 4});
  expect_values(decoupled.take({1, -1}), {3.7, 3.9}, kHandTolerance);
  rule.decoupled_decay = false;
  Trajectory l2(backend_, bare_rule(rule), {2}, {4, 4});
  expect_values(l2.take({-1, -3}), {3.9, 4.1}, kHandTolerance);
}

}  // namespace
}  // namespace sing
