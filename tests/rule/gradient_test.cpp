// Checks the rule without a host: the parameter afterwards holds the standardized gradient.
#include "sing/rule/gradient.hpp"

#include <cmath>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;

class GradientSteps : public test::BackendTest {};
SING_ON_BACKENDS(GradientSteps, test::backend_kinds());

// (1, 3 | 0, 8) minus the row means 2 and 4 is (−1, 1 | −4, 4), with norm √34.
TEST_P(GradientSteps, CenteredAndOfUnitNorm) {
  Options options = bare_rule(Gradient{});
  options.standardize = {.norm_epsilon = 0};
  Trajectory path(backend_, options, {2, 2}, {9, 9, 9, 9});
  const double root = std::sqrt(34.0);
  expect_values(path.take({1, 3, 0, 8}), {-1 / root, 1 / root, -4 / root, 4 / root},
                kHandTolerance);
  EXPECT_TRUE(path.optimizer().state(0).empty());
}

TEST_P(GradientSteps, RateAndDecayHaveNoEffect) {
  Options options = bare_rule(Gradient{.learning_rate = 7, .weight_decay = 0.5});
  Trajectory path(backend_, options, {3}, {1, 2, 3});
  path.optimizer().set_learning_rate_factor(0.125);
  expect_values(path.take({-4, 0, 5}), {-4, 0, 5}, 0);
  path.optimizer().set_learning_rate(0);
  expect_values(path.take({8, 16, 32}, 8), {1, 2, 4}, 0);
}

}  // namespace
}  // namespace sing
