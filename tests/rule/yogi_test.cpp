// Checks Yogi against steps computed by hand, on every backend.
#include "sing/rule/yogi.hpp"

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

class YogiSteps : public test::BackendTest {};
SING_ON_BACKENDS(YogiSteps, test::backend_kinds());

// Both moments start from 1/4; ε = 1:
//   t   g   m       v                        m̂       v̂
//   1   2   9/8     1/4 + 4/4 = 5/4          9/4     5
//   2   1   17/16   5/4 − 1/4 = 1            17/12   16/7
//   3   1   33/32   1: v = g², unchanged     33/28   64/37
TEST_P(YogiSteps, TheSecondMomentMovesByTheSquareAtMost) {
  const Yogi rule{
      .learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 1, .initial_moment = 0.25};
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  const double first = 1 - 0.1 * 2.25 / (std::sqrt(5.0) + 1);
  expect_values(path.take({2}), {first}, kHandTolerance);
  expect_values(path.state(1), {1.25}, kHandTolerance);
  const double second = first - 0.1 * (17.0 / 12) / (4 / std::sqrt(7.0) + 1);
  expect_values(path.take({1}), {second}, kHandTolerance);
  expect_values(path.state(1), {1}, kHandTolerance);
  expect_values(path.take({1}), {second - 0.1 * (33.0 / 28) / (8 / std::sqrt(37.0) + 1)},
                kHandTolerance);
  expect_values(path.state(0), {33.0 / 32}, kHandTolerance);
  expect_values(path.state(1), {1}, kHandTolerance);
}

// From zero and with ε = 0, the first step is the learning rate.
TEST_P(YogiSteps, BothKindsOfDecay) {
  Yogi rule{.learning_rate = 0.1,
            .beta1 = 0.5,
            .beta2 = 0.75,
            .epsilon = 0,
            .initial_moment = 0,
            .weight_decay = 0.5};
  Trajectory l2(backend_, bare_rule(rule), {2}, {4, 4});
  // −1 + 0.5 · 4 > 0 > −3 + 0.5 · 4
  expect_values(l2.take({-1, -3}), {3.9, 4.1}, kHandTolerance);
  rule.decoupled_decay = true;
  Trajectory decoupled(backend_, bare_rule(rule), {2}, {4, 4});
  expect_values(decoupled.take({1, -1}), {3.7, 3.9}, kHandTolerance);
}

}  // namespace
}  // namespace sing
