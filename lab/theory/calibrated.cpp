// Checks the size-calibrated target. Norms are √(n_k/n_ref) instead of 1, so S = Σ n_k/n_ref partly
// replaces D, and τ = min √(n_k/n_ref) enters the convergence bound.
#include <cmath>

#include "lab/page/html_text.hpp"
#include "lab/theory/claims.hpp"
#include "lab/theory/escape_starts.hpp"
#include "lab/theory/stochastic_descent.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

constexpr double kReference = 8;

struct Calibration {
  double sum = 0;           // S
  double least = HUGE_VAL;  // τ
};

Calibration calibration(const Shapes& shapes, double reference_size) {
  Calibration found;
  for (const Shape& shape : shapes) {
    const double share = static_cast<double>(count_elements(shape)) / reference_size;
    found.sum += share;
    found.least = std::min(found.least, std::sqrt(share));
  }
  return found;
}

// Returns a balanced direction whose tensor norms are proportional to the targets.
Vector calibrated_direction(const Shapes& shapes) {
  Vector direction = balanced_direction(shapes);
  for_each_block(shapes, direction, [](std::span<double> block, std::size_t) {
    for (double& each : block) {
      each *= std::sqrt(static_cast<double>(block.size()));
    }
  });
  return scaled(direction, 1 / norm(direction));
}

Evidence check_escape(const Method& method) {
  constexpr double kRadius = 0.75;
  double nearest = HUGE_VAL;
  double tight_error = 0;
  double length_error = 0;
  const Objective objective = radial_basin(kRadius);
  for (const Shapes& shapes : escape_cuts()) {
    const double root_of_sum = std::sqrt(calibration(shapes, kReference).sum);
    BlockStandardizer standardized(method, shapes, calibrated_options(kReference));
    for (Vector point : starts_in_ball(size_of(shapes), kRadius)) {
      const Vector& direction = standardized(objective.gradient(point));
      length_error = std::max(length_error, std::abs(norm(direction) / root_of_sum - 1));
      add_scaled(point, -2 * kRadius / root_of_sum, direction);
      nearest = std::min(nearest, norm(point) / kRadius);
    }
    Vector point = scaled(calibrated_direction(shapes), 0.999 * kRadius);
    add_scaled(point, -0.99 * 2 * kRadius / root_of_sum, standardized(objective.gradient(point)));
    tight_error = std::max(tight_error, std::abs(norm(point) / kRadius - 0.981));
  }
  return {{at_most("largest relative error of ‖step‖ = η√S", length_error, 1e-12),
           at_least("least distance beyond the sphere at 2r/√S, in radii", nearest - 1, 0.999e-6),
           at_most("error of the landing at 0.99 of it, 0.981 r", tight_error, 1e-12)}};
}

// Tensors of 4, 12 and 48 elements; the reference is 8.
Problem mixed_problem(bool convex) {
  const Shapes shapes = {{4}, {3, 4}, {6, 8}};
  RandomNumbers random(Experiment::kCalibrated, 0);
  Vector start(64);
  Vector curvatures(64);
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = random.uniform(-1.5, 2);
    curvatures[i] = 1 / (1 + static_cast<double>(i % 4));
  }
  return convex ? Problem{"quadratic", quadratic(curvatures), 1, 2, shapes, start}
                : Problem{"wells", wells(), 2, 2, shapes, start};
}

struct Bounds {
  double right;        // F(x₀)/(ηTτ) + (1 + √S/τ)ε + ηLS/(2τ)
  double substituted;  // the paper's bound with S instead of D
};

Bounds bounds(const Problem& problem, const Plan& plan, double reference_size, double precision) {
  const Calibration found = calibration(problem.shapes, reference_size);
  const double descent =
      problem.objective.value(problem.start) / (plan.rate * static_cast<double>(plan.steps));
  const double curved = plan.rate * problem.smoothness * found.sum / 2;
  const double root_of_sum = std::sqrt(found.sum);
  return {.right = (descent + curved) / found.least + (1 + root_of_sum / found.least) * precision,
          .substituted = descent + curved + (1 + root_of_sum) * precision};
}

Evidence check_convergence(const Method& method) {
  Evidence evidence;
  for (const bool convex : {true, false}) {
    const Problem problem = mixed_problem(convex);
    for (const double precision : {0.4, 0.2, 0.1, 0.05}) {
      const Plan plan = plan_for(problem, precision);
      const Estimate average =
          average_gradient(method, problem, plan, calibrated_options(kReference));
      evidence.numbers.push_back(at_most(fmt::format("{}, ε = {}: average, upper limit",
                                                     problem.name, page::short_number(precision)),
                                         average.upper(),
                                         bounds(problem, plan, kReference, precision).right));
    }
  }
  return evidence;
}

// One tensor of the reference size is at its minimum. A small tensor is on a straight slope of 1,
// which it leaves in T = F(x₀)/(ητ) steps. There is no noise: ε = 0.
Evidence check_counterexample(const Method& method) {
  constexpr double kSize = 400;
  const Shapes shapes = {{20, 20}, {4}};
  Vector start(404, 0.0);
  std::fill(start.begin() + 400, start.end(), 2.0);
  const Problem problem{"slope", slopes(0.5, 10), 10, 0, shapes, start};
  const double value = problem.objective.value(start);
  const Calibration found = calibration(shapes, kSize);
  Plan plan{.precision = 0, .batch = 1, .rate = 0.01, .steps = 0};
  plan.steps = static_cast<std::int64_t>(0.95 * value / (plan.rate * found.least));
  const Estimate average = average_gradient(method, problem, plan, calibrated_options(kSize));
  const Bounds both = bounds(problem, plan, kSize, 0);
  return {{close_to("S", found.sum, 1.01, 1e-12),
           close_to("τ", found.least, 0.1, 1e-12),
           close_to("average ‖∇F‖ over T steps", average.mean, 1, 1e-12),
           at_most("the paper's bound with S instead of D", both.substituted, 0.99),
           {"F(x₀)/(ηTτ) + (1 + √S/τ)ε + ηLS/(2τ)", both.right, average.mean, HUGE_VAL}}};
}

}  // namespace

std::vector<Claim> calibrated_claims() {
  return {
      {"calibrated", "calibrated-escape",
       "With norms √(n_k/n_ref), S = Σ n_k/n_ref: a step has length η√S and leaves the open ball "
       "at η ≥ 2r/√S. This is tight.",
       "The escape experiments' tensors and starts with n_ref = 8.", check_escape},
      {"calibrated", "calibrated-convergence",
       "With τ = min √(n_k/n_ref), the average of E‖∇F(x_t)‖_φ is at most F(x₀)/(ηTτ) + "
       "(1 + √S/τ)ε + ηLS/(2τ).",
       "A quadratic and wells with tensors of 4, 12 and 48 elements, n_ref = 8; 16 runs, upper end "
       "of the 99 % confidence interval.",
       check_convergence},
      {"calibrated", "calibrated-counterexample",
       "The paper's bound with S in place of D is wrong: small tensors move by less than 1, which "
       "only τ takes into account.",
       "Tensors of 400 and 4 elements, n_ref = 400; the small one descends a slope of 1.",
       check_counterexample}};
}

}  // namespace sing::lab::theory
