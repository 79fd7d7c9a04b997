// Checks RAdam against steps computed by hand, on every backend.
#include "sing/rule/radam.hpp"

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

RAdam half_and_three_quarters() {
  return {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0};
}

// The factor is √((ρ−4)(ρ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρ)) at step 8, where ρ∞ = 7 and ρ = 7 − 16 · 0.75⁸/(1
// − 0.75⁸) first reaches 5.
constexpr double kFactor = 0.5926172134722928;

class RAdamSteps : public test::BackendTest {};
SING_ON_BACKENDS(RAdamSteps, test::backend_kinds());

// With g = 1 throughout m̂ = 1 and √v = √(1 − β2ᵗ): seven steps of the learning rate, then 0.1 · r.
TEST_P(RAdamSteps, MomentumAloneUntilRhoReachesFive) {
  Trajectory path(backend_, bare_rule(half_and_three_quarters()), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    expect_values(path.take({1}), {1 - 0.1 * step}, kHandTolerance);
  }
  expect_values(path.take({1}), {0.3 - 0.1 * kFactor}, kHandTolerance);
}

// ε is added to √v before the bias correction s = √(1 − 0.75⁸) = √58975/256.
TEST_P(RAdamSteps, EpsilonJoinsTheUncorrectedRoot) {
  RAdam rule = half_and_three_quarters();
  rule.epsilon = 0.25;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    path.take({1});
  }
  const double root = std::sqrt(58975.0) / 256;
  expect_values(path.take({1}), {0.3 - 0.1 * kFactor * root / (root + 0.25)}, kHandTolerance);
}

// In the authors' form there is no step and no decay before that point, then both; the moments run
// from the beginning.
TEST_P(RAdamSteps, AuthorsForm) {
  RAdam rule = half_and_three_quarters();
  rule.early_momentum = false;
  rule.weight_decay = 0.5;
  rule.decoupled_decay = true;
  Trajectory path(backend_, bare_rule(rule), {1}, {1});
  for (int step = 1; step <= 7; ++step) {
    expect_values(path.take({1}), {1}, 0);
  }
  expect_values(path.take({1}), {0.95 - 0.1 * kFactor}, kHandTolerance);
}

// L2: −1 + 0.5 · 4 = 1; momentum alone.
TEST_P(RAdamSteps, L2Decay) {
  RAdam rule = half_and_three_quarters();
  rule.weight_decay = 0.5;
  Trajectory path(backend_, bare_rule(rule), {1}, {4});
  expect_values(path.take({-1}), {3.9}, kHandTolerance);
  expect_values(path.state(0), {0.5}, kHandTolerance);
}

}  // namespace
}  // namespace sing
