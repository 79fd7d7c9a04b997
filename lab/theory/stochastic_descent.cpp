// Takes the steps and averages over runs.
#include "lab/theory/stochastic_descent.hpp"

#include <array>
#include <cmath>

namespace sing::lab::theory {
namespace {

double measured_norm(const Shapes& shapes, const Vector& gradient, const Standardize& options) {
  return norm(options.centralize ? centred(shapes, gradient) : gradient);
}

}  // namespace

Plan plan_for(const Problem& problem, double precision) {
  const double value = problem.objective.value(problem.start);
  const double deviations = problem.deviation / precision;
  return {.precision = precision,
          .batch = std::ceil(deviations * deviations),
          .rate = 2 * precision / problem.smoothness,
          .steps = static_cast<std::int64_t>(
              std::ceil(problem.smoothness * value / (2 * precision * precision)))};
}

StochasticDescent::StochasticDescent(const Method& method, const Problem& problem, const Plan& plan,
                                     const Standardize& options, std::uint64_t repetition)
    : problem_(problem),
      plan_(plan),
      element_deviation_(problem.deviation /
                         std::sqrt(plan.batch * static_cast<double>(problem.start.size()))),
      standardize_(method, problem.shapes, options),
      random_(Experiment::kConvergence, repetition),
      point_(problem.start),
      gradient_(problem.objective.gradient(point_)),
      value_(problem.objective.value(point_)) {}

DescentStep StochasticDescent::step() {
  noise_ = scaled(random_.normals(point_.size()), element_deviation_);
  Vector sample = gradient_;
  add_scaled(sample, 1, noise_);
  add_scaled(point_, -plan_.rate, standardize_(sample));
  const double before = value_;
  gradient_before_ = gradient_;
  gradient_ = problem_.objective.gradient(point_);
  value_ = problem_.objective.value(point_);
  return {gradient_before_, noise_, before, value_};
}

Estimate average_gradient(const Method& method, const Problem& problem, const Plan& plan,
                          const Standardize& options) {
  std::array<double, kRepetitions> averages{};
  for (std::size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    StochasticDescent descent(method, problem, plan, options, repetition);
    double sum = 0;
    for (std::int64_t t = 0; t < plan.steps; ++t) {
      sum += measured_norm(problem.shapes, descent.gradient(), options);
      descent.step();
    }
    averages[repetition] = sum / static_cast<double>(plan.steps);
  }
  return estimate(averages);
}

double needed_steps(const Method& method, const Problem& problem, const Plan& plan,
                    const Standardize& options, double target) {
  double sum = 0;
  for (std::size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    StochasticDescent descent(method, problem, plan, options, repetition);
    std::int64_t steps = 0;
    while (steps < plan.steps &&
           measured_norm(problem.shapes, descent.gradient(), options) > target) {
      descent.step();
      ++steps;
    }
    sum += static_cast<double>(steps);
  }
  return sum / static_cast<double>(kRepetitions);
}

}  // namespace sing::lab::theory
