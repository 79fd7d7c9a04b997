// Checks LookAhead against paths computed by hand: gradient descent at rate 1 on a gradient of 1.
#include "sing/rule/lookahead.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/backends.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::DeviceTensor;
using test::Trajectory;

Options descent(std::int64_t period, double alpha) {
  Options options = bare_rule(Sgd{.learning_rate = 1});
  options.lookahead = Lookahead{.period = period, .alpha = alpha};
  return options;
}

class LookaheadSteps : public test::BackendTest {
 protected:
  void expect_path(const Options& options, const std::vector<double>& expected) {
    Trajectory path(backend_, options, {1}, {0});
    for (std::size_t step = 0; step < expected.size(); ++step) {
      EXPECT_EQ(path.take({1})[0], expected[step]) << "step " << step + 1;
    }
  }
};
SING_ON_BACKENDS(LookaheadSteps, test::backend_kinds());

// Step 3 merges half of −3 and half of the start; step 6 merges half of −4.5 and half of −1.5.
TEST_P(LookaheadSteps, MergesEveryPeriod) {
  expect_path(descent(3, 0.5), {-1, -2, -1.5, -2.5, -3.5, -3, -4, -5, -4.5});
}

// 0.25 · (−2) + 0.75 · 0 = −0.5; 0.25 · (−2.5) + 0.75 · (−0.5) = −1.
TEST_P(LookaheadSteps, AlphaIsTheShareOfTheFastWeights) {
  expect_path(descent(2, 0.25), {-1, -0.5, -1.5, -1});
}

TEST_P(LookaheadSteps, AlphaOneKeepsTheFastWeights) {
  expect_path(descent(2, 1), {-1, -2, -3, -4});
}

TEST_P(LookaheadSteps, AlphaZeroGoesBackToTheSlowWeights) {
  expect_path(descent(2, 0), {-1, 0, -1, 0});
}

TEST_P(LookaheadSteps, PeriodOneMergesInEveryStep) {
  expect_path(descent(1, 0.5), {-0.5, -1, -1.5});
}

TEST_P(LookaheadSteps, TheSlowCopyIsTheStartThenTheMergedWeights) {
  Trajectory path(backend_, descent(2, 0.5), {1}, {7});
  path.take({1});
  EXPECT_EQ(path.state(0).at(0), 7);
  path.take({1});
  EXPECT_EQ(path.state(0).at(0), 6);
  path.take({1});
  EXPECT_EQ(path.state(0).at(0), 6);
}

// Momentum 1/2 on a gradient of 1 gives m = 1, 1.5, 1.75, 1.875 with or without a merge in between.
TEST_P(LookaheadSteps, MomentsAreLeftAlone) {
  Options options = descent(2, 0.5);
  options.rule = Sgd{.learning_rate = 1, .momentum = 0.5};
  // −1; half of −2.5; −1.25 − 1.75 = −3; half of −4.875 and half of −1.25.
  expect_path(options, {-1, -1.25, -3, -3.0625});
}

class TwoParameters {
 public:
  explicit TwoParameters(const std::shared_ptr<Backend>& backend)
      : always_(backend, Dtype::kFloat64, {1}),
        sometimes_(backend, Dtype::kFloat64, {1}),
        gradient_(backend, Dtype::kFloat64, {1}, std::vector<double>{1}),
        broken_(backend, Dtype::kFloat64, {1},
                std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
        optimizer_({always_.parameter("always", gradient_), sometimes_.parameter("sometimes")},
                   descent(3, 0.5), backend) {}

  enum class Given { kNothing, kOne, kNan };
  double step(Given given) {
    optimizer_.set_gradient(1, given == Given::kNothing ? nullptr
                               : given == Given::kOne   ? gradient_.data()
                                                        : broken_.data());
    optimizer_.step();
    return sometimes_.values()[0];
  }

 private:
  DeviceTensor always_, sometimes_, gradient_, broken_;
  Optimizer optimizer_;
};
using Given = TwoParameters::Given;

// The group's counter advances at every step, so a late parameter may be merged in its first step.
TEST_P(LookaheadSteps, ALateParameterJoinsTheGroupsCount) {
  TwoParameters parameters(backend_);
  EXPECT_EQ(parameters.step(Given::kNothing), 0);
  EXPECT_EQ(parameters.step(Given::kNothing), 0);
  EXPECT_EQ(parameters.step(Given::kOne), -0.5);
  EXPECT_EQ(parameters.step(Given::kOne), -1.5);
}

// The gradient is absent in step 3, so there is no merge there; step 6 merges −5 with the start.
TEST_P(LookaheadSteps, AParameterWithoutAGradientAtTheMergeIsNotMerged) {
  TwoParameters parameters(backend_);
  EXPECT_EQ(parameters.step(Given::kOne), -1);
  EXPECT_EQ(parameters.step(Given::kOne), -2);
  EXPECT_EQ(parameters.step(Given::kNothing), -2);
  EXPECT_EQ(parameters.step(Given::kOne), -3);
  EXPECT_EQ(parameters.step(Given::kOne), -4);
  EXPECT_EQ(parameters.step(Given::kOne), -2.5);
}

TEST_P(LookaheadSteps, ASkippedTensorIsNotMergedEither) {
  TwoParameters parameters(backend_);
  EXPECT_EQ(parameters.step(Given::kOne), -1);
  EXPECT_EQ(parameters.step(Given::kOne), -2);
  EXPECT_EQ(parameters.step(Given::kNan), -2);
  EXPECT_EQ(parameters.step(Given::kOne), -3);
}

}  // namespace
}  // namespace sing
