// Checks the parts of the experiments: functions, random numbers, estimates, iterates; by hand
// where numbers are small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "lab/theory/estimate.hpp"
#include "lab/theory/iterates.hpp"
#include "lab/theory/objectives.hpp"
#include "lab/theory/random_numbers.hpp"
#include "lab/theory/stochastic_descent.hpp"
#include "lab/theory/three_minima.hpp"

namespace sing::lab::theory {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

const Vector kPoint = {0.3, -0.7, 0.05, 1.1};

std::vector<Objective> objectives() {
  return {radial_basin(0.9), separable_basin({1, 2, 0.5, 3}, {1, 1.5, 0.8, 2}),
          quadratic({1, 0.5, 2, 0.25}), wells(), slopes(0.4, 2)};
}

TEST(Objectives, GradientsAreThoseOfTheValues) {
  constexpr double kStep = 1e-5;
  for (const Objective& objective : objectives()) {
    const Vector gradient = objective.gradient(kPoint);
    for (std::size_t i = 0; i < kPoint.size(); ++i) {
      Vector above = kPoint;
      Vector below = kPoint;
      above[i] += kStep;
      below[i] -= kStep;
      const double slope = (objective.value(above) - objective.value(below)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], slope, 1e-8);
    }
  }
}

// ⟨∇F(x), x⟩ is not negative in the ball and is negative just outside it, on the axis with the
// smallest extent.
TEST(Objectives, BasinsHaveTheRadiusTheySay) {
  constexpr double kRadius = 0.8;
  const std::vector<Objective> basins = {radial_basin(kRadius),
                                         separable_basin({1, 2, 0.5, 3}, {1, 1.5, kRadius, 2})};
  for (const Objective& objective : basins) {
    RandomNumbers random(Experiment::kEscape, 0);
    for (int each = 0; each < 200; ++each) {
      const Vector x = scaled(random.direction(4), kRadius * random.uniform());
      EXPECT_GE(dot(objective.gradient(x), x), 0);
    }
    const Vector outside = {0, 0, 1.001 * kRadius, 0};
    EXPECT_LT(dot(objective.gradient(outside), outside), 0);
  }
}

TEST(Objectives, SmoothnessIsReachedAndNotExceeded) {
  const std::vector<std::pair<Objective, double>> smooth = {
      {quadratic({1, 0.5, 2, 0.25}), 2}, {wells(), 2}, {slopes(0.4, 3), 3}};
  for (const auto& [objective, smoothness] : smooth) {
    double most = 0;
    for (double x = -3; x < 3; x += 0.001) {
      const Vector one = objective.gradient(Vector(4, x));
      const Vector other = objective.gradient(Vector(4, x + 1e-3));
      most = std::max(most, largest(difference(one, other)) / 1e-3);
    }
    EXPECT_LE(most, smoothness * (1 + 1e-9));
    EXPECT_GE(most, smoothness * (1 - 1e-3));
  }
}

TEST(ThreeMinima, SlopeAndBasins) {
  for (double x = -4; x < 5; x += 0.1) {
    const double slope = (three_minima(x + 1e-6) - three_minima(x - 1e-6)) / 2e-6;
    EXPECT_NEAR(three_minima_slope(x), slope, 1e-8);
  }
  for (const double maximum : {-2.092, 0.567}) {
    EXPECT_GT(three_minima_slope(maximum - 1e-3), 0);
    EXPECT_LT(three_minima_slope(maximum + 1e-3), 0);
  }
}

// In one dimension, a SING step moves by the learning rate in the direction of descent.
TEST(ThreeMinima, SingStepsAreOfTheRate) {
  const std::vector<double> path = descend(library_method(), Descent::kSing, 0.5,
                                           {WarmupCosine{.total_steps = kFigureSteps}}, -4);
  ASSERT_EQ(path.size(), 61U);
  EXPECT_DOUBLE_EQ(path[1], -3.5);
  EXPECT_NEAR(std::abs(path[31] - path[30]), 0.25, 1e-12);
}

TEST(RandomNumbers, NormalsHaveTheirMoments) {
  RandomNumbers random(Experiment::kFigures, 7);
  constexpr int kCount = 200'000;
  std::array<double, 5> moments{};
  double beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    for (std::size_t power = 1; power < moments.size(); ++power) {
      moments[power] += std::pow(x, static_cast<double>(power)) / kCount;
    }
    beyond_two += std::abs(x) > 2 ? 1.0 / kCount : 0;
  }
  // The bounds are four standard errors of each moment.
  EXPECT_NEAR(moments[1], 0, 4 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(moments[2], 1, 4 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(moments[3], 0, 4 * std::sqrt(15.0 / kCount));
  EXPECT_NEAR(moments[4], 3, 4 * std::sqrt(96.0 / kCount));
  EXPECT_NEAR(beyond_two, 0.0455, 4 * std::sqrt(0.0455 / kCount));
}

TEST(Estimate, IsStudentsInterval) {
  std::array<double, kRepetitions> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? 1 : 3;
  }
  const Estimate found = estimate(values);
  EXPECT_DOUBLE_EQ(found.mean, 2);
  EXPECT_NEAR(found.half_width, 2.9467 * std::sqrt(16.0 / 15) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(found.upper(), found.mean + found.half_width);
}

TEST(Estimate, PowerLawsAreFound) {
  const Vector x = {1, 2, 4, 8};
  const Fit exact = fit_power_law(x, Vector{3, 0.75, 0.1875, 0.046875});
  EXPECT_NEAR(exact.exponent, -2, 1e-12);
  EXPECT_NEAR(exact.half_width, 0, 1e-7);
  EXPECT_GT(fit_power_law(x, Vector{1, 3, 3, 9}).half_width, 0.1);
}

TEST(Blocks, CenteringAndNormsByHand) {
  const Shapes shapes = {{2, 2}, {2}};
  const Vector values = {1, 3, 5, 9, 3, 4};
  EXPECT_THAT(centred(shapes, values), ElementsAre(-1, 1, -2, 2, 3, 4));
  EXPECT_THAT(row_means(shapes, values), ElementsAre(2, 7));
  EXPECT_DOUBLE_EQ(sum_of_block_norms(shapes, centred(shapes, values)), std::sqrt(10.0) + 5);
}

TEST(BlockStandardizer, GivesThePapersStep) {
  BlockStandardizer standardized(library_method(), {{2, 2}, {2}}, paper_options());
  const double root = std::sqrt(10.0);
  EXPECT_THAT(standardized({1, 3, 5, 9, 3, 4}),
              Pointwise(DoubleNear(1e-15), {-1 / root, 1 / root, -2 / root, 2 / root, 0.6, 0.8}));
}

TEST(Iterates, AreTheHostsOnTheStandardizedGradient) {
  Iterates iterates(library_method(), {.shapes = {{1, 2}, {2}}, .host = Sgd{.learning_rate = 0.5}},
                    {1, 1, 1, 1});
  iterates.step({1, 3, 3, 4});
  const double step = 0.5 / std::sqrt(2.0);
  EXPECT_THAT(iterates.values(), Pointwise(DoubleNear(1e-15), {1 + step, 1 - step, 0.7, 0.6}));
}

// The steps equal those of the library's optimizer that standardizes and updates in one pass.
TEST(Iterates, AgreeWithTheFusedOptimizer) {
  Vector values = {1, 2, 3, 4, 5, 6};
  Vector gradient = {0.3, -1, 2, 0.5, 0.25, -4};
  Options options;
  options.standardize = paper_options();
  options.rule = AdamW{.learning_rate = 0.1};
  options.lookahead.reset();
  Optimizer fused({{.data = values.data(),
                    .shape = {2, 3},
                    .dtype = Dtype::kFloat64,
                    .gradient = gradient.data()}},
                  options);
  Iterates iterates(library_method(), {.shapes = {{2, 3}}, .host = AdamW{.learning_rate = 0.1}},
                    {1, 2, 3, 4, 5, 6});
  for (int step = 0; step < 5; ++step) {
    fused.step();
    iterates.step(gradient);
  }
  EXPECT_THAT(iterates.values(), Pointwise(DoubleNear(1e-14), values));
}

// For σ = 2, ε = 0.3: B = ⌈44.4⌉; F(x₀) = 5, L = 2: T = ⌈2 · 5 / 0.18⌉, η = 0.3.
TEST(StochasticDescent, PlansAreTheTheoremsRoundedUp) {
  const Problem problem{.name = "",
                        .objective = quadratic({2, 2}),
                        .smoothness = 2,
                        .deviation = 2,
                        .shapes = {{2}},
                        .start = {1, 2}};
  const Plan plan = plan_for(problem, 0.3);
  EXPECT_EQ(plan.batch, 45);
  EXPECT_EQ(plan.steps, 56);
  EXPECT_DOUBLE_EQ(plan.rate, 0.3);
}

TEST(StochasticDescent, StepsAndCountsByHandWithoutNoise) {
  const Problem problem{.name = "",
                        .objective = quadratic({1}),
                        .smoothness = 1,
                        .deviation = 0,
                        .shapes = {{1}},
                        .start = {2}};
  const Plan plan{.precision = 0.25, .batch = 1, .rate = 0.5, .steps = 4};
  StochasticDescent descent(library_method(), problem, plan, normalization_only(), 0);
  const DescentStep step = descent.step();
  EXPECT_DOUBLE_EQ(step.value, 2);
  EXPECT_DOUBLE_EQ(step.next_value, 1.125);
  EXPECT_THAT(descent.point(), ElementsAre(1.5));
  // The gradients are 2, 1.5, 1, 0.5.
  EXPECT_DOUBLE_EQ(average_gradient(library_method(), problem, plan, normalization_only()).mean,
                   1.25);
  EXPECT_EQ(needed_steps(library_method(), problem, plan, normalization_only(), 1), 2);
}

}  // namespace
}  // namespace sing::lab::theory
