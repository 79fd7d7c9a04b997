// Checks Theorems 3.3 and 3.4: how small the gradient becomes, and in how many steps.
#include <cmath>

#include "lab/page/html_text.hpp"
#include "lab/page/line_chart.hpp"
#include "lab/theory/claims.hpp"
#include "lab/theory/stochastic_descent.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

constexpr double kCoarse[] = {0.4, 0.2, 0.1, 0.05, 0.025};

// Four tensors have rows of four elements, each row with one curvature. The start has nonzero row
// means.
Problem quadratic_problem() {
  const Shapes shapes = repeat(4, {2, 4});
  Vector curvatures(32);
  for (std::size_t i = 0; i < curvatures.size(); ++i) {
    curvatures[i] = 1 / (1 + 0.5 * static_cast<double>(i / 4));
  }
  Vector start = RandomNumbers(Experiment::kConvergence, 100).normals(32);
  for (double& each : start) {
    each += 0.5;
  }
  return {"quadratic", quadratic(curvatures), 1, 2, shapes, start};
}

Problem wells_problem() {
  RandomNumbers random(Experiment::kConvergence, 101);
  Vector start(24);
  for (double& each : start) {
    each = random.uniform(-1.5, 2);
  }
  return {"wells", wells(), 2, 2, {{2, 4}, {3, 4}, {4}}, start};
}

// Returns 2 + √D + D, the theorems' bound in units of ε.
double bound_in_precisions(const Problem& problem) {
  const auto tensors = static_cast<double>(problem.shapes.size());
  return 2 + std::sqrt(tensors) + tensors;
}

std::string at_precision(const Problem& problem, const Plan& plan) {
  return fmt::format("{}, ε = {}, T = {}", problem.name, page::short_number(plan.precision),
                     plan.steps);
}

std::vector<Number> check_averages(const Method& method, const Standardize& options) {
  std::vector<Number> numbers;
  for (const Problem& problem : {quadratic_problem(), wells_problem()}) {
    for (const double precision : kCoarse) {
      const Plan plan = plan_for(problem, precision);
      const Estimate average = average_gradient(method, problem, plan, options);
      numbers.push_back(
          at_most(fmt::format("{}: average, upper limit", at_precision(problem, plan)),
                  average.upper(), bound_in_precisions(problem) * precision));
    }
  }
  return numbers;
}

Evidence check_plain(const Method& method) {
  return {check_averages(method, normalization_only())};
}

// The projection removes curvature times row mean from ∇F of the quadratic; this part cannot
// change.
Evidence check_centralized(const Method& method) {
  Evidence evidence{check_averages(method, paper_options())};
  const Problem problem = quadratic_problem();
  const Plan plan = plan_for(problem, 0.05);
  StochasticDescent descent(method, problem, plan, paper_options(), 0);
  const Vector before = row_means(problem.shapes, descent.gradient());
  for (std::int64_t t = 0; t < plan.steps; ++t) {
    descent.step();
  }
  const Vector after = row_means(problem.shapes, descent.gradient());
  evidence.numbers.push_back(at_most("quadratic: change of the row means of ∇F",
                                     largest(difference(after, before)), 1e-12));
  evidence.numbers.push_back(
      at_least("quadratic: ‖∇F‖ that is left at the end", norm(descent.gradient()), 0.5));
  return evidence;
}

// Checks the proof's inequality with a plus sign, F(x₊) ≤ F(x) + η√D‖δ‖ − ηN + η²LD/2, where δ is
// the noise and N the sum of the tensors' norms.
struct ProofCheck {
  double least_slack = HUGE_VAL;
  double steps = 0;
  double printed_wrong = 0;  // steps in which the paper's line with a minus fails
  double noise = 0;          // Σ‖δ‖
};

ProofCheck follow_proof(const Method& method, const Problem& problem, const Plan& plan) {
  ProofCheck found;
  const auto tensors = static_cast<double>(problem.shapes.size());
  StochasticDescent descent(method, problem, plan, paper_options(), 0);
  for (std::int64_t t = 0; t < plan.steps; ++t) {
    const DescentStep step = descent.step();
    Vector sample = step.gradient;
    add_scaled(sample, 1, step.noise);
    const double sum = sum_of_block_norms(problem.shapes, centred(problem.shapes, sample));
    const double by_noise = plan.rate * std::sqrt(tensors) * norm(step.noise);
    const double curved = plan.rate * plan.rate * problem.smoothness * tensors / 2;
    const double slack = step.value + by_noise - plan.rate * sum + curved - step.next_value;
    found.least_slack = std::min(found.least_slack, slack);
    found.printed_wrong += slack - 2 * by_noise < 0 ? 1 : 0;
    found.noise += norm(step.noise);
    found.steps += 1;
  }
  return found;
}

Evidence check_proof(const Method& method) {
  Evidence evidence;
  for (const Problem& problem : {quadratic_problem(), wells_problem()}) {
    const Plan plan = plan_for(problem, 0.05);
    const ProofCheck found = follow_proof(method, problem, plan);
    const double noise = found.noise / found.steps;
    const double root_of_batch = problem.deviation / std::sqrt(plan.batch);
    evidence.numbers.push_back(
        at_least(fmt::format("{}: least slack of the corrected line", problem.name),
                 found.least_slack, -1e-12));
    evidence.numbers.push_back(
        at_least(fmt::format("{}: share of steps that break the printed one", problem.name),
                 found.printed_wrong / found.steps, 0.01));
    evidence.numbers.push_back(
        at_most(fmt::format("{}: mean ‖noise‖ / (σ/√B)", problem.name), noise / root_of_batch, 1));
    evidence.numbers.push_back(at_least(fmt::format("{}: mean ‖noise‖ / (σ/B)", problem.name),
                                        noise / (problem.deviation / plan.batch), 2));
  }
  return evidence;
}

// F(x₀) = 1 for every slope. ‖∇F‖ = 11ε until the corner, which is above the bound of 8ε for D = 4.
Problem slope_problem(double precision) {
  const Shapes shapes = repeat(4, {4});
  const double slope = 11 * precision / 4;  // ‖∇F‖ = √16 · slope
  const double length = 1 / (16 * slope) + slope / 2;
  return {"slope ∝ ε", slopes(slope, 1), 1, 1, shapes, Vector(16, length)};
}

struct Need {
  Vector inverse_precisions;
  Vector steps;
  Vector samples;
};

template <class MakeProblem>
Need measure_need(const Method& method, std::span<const double> precisions,
                  const MakeProblem& make_problem) {
  Need need;
  for (const double precision : precisions) {
    const Problem problem = make_problem(precision);
    const Plan plan = plan_for(problem, precision);
    const double steps = needed_steps(method, problem, plan, normalization_only(),
                                      bound_in_precisions(problem) * precision);
    need.inverse_precisions.push_back(1 / precision);
    need.steps.push_back(steps);
    need.samples.push_back(steps * plan.batch);
  }
  return need;
}

page::Curve curve_of(const Need& need, const std::string& label, int color) {
  page::Curve curve{.label = label, .style = fmt::format("color{}", color)};
  for (std::size_t i = 0; i < need.steps.size(); ++i) {
    curve.points.push_back(page::curve_point(need.inverse_precisions[i], need.steps[i]));
  }
  return curve;
}

Evidence check_rate(const Method& method) {
  Evidence evidence;
  std::vector<page::Curve> curves;
  constexpr double kFine[] = {0.04, 0.02, 0.01, 0.005, 0.0025};
  const auto add = [&](const std::string& name, const Need& need, double least, double most) {
    const Fit steps = fit_power_law(need.inverse_precisions, need.steps);
    const Fit samples = fit_power_law(need.inverse_precisions, need.samples);
    const std::string exponent = fmt::format("{}: exponent of 1/ε in ", name);
    evidence.numbers.push_back({exponent + "the steps needed", steps.exponent, least, most});
    evidence.numbers.push_back(
        {exponent + "the gradients needed", samples.exponent, least + 2, most + 2});
    curves.push_back(curve_of(need, name, static_cast<int>(curves.size())));
  };
  add("quadratic", measure_need(method, kFine, [](double) { return quadratic_problem(); }),
      -HUGE_VAL, 2);
  add("wells", measure_need(method, kFine, [](double) { return wells_problem(); }), -HUGE_VAL, 2);
  const Need slope = measure_need(method, kFine, slope_problem);
  // The tolerance is 0.01, because the slopes end at F = 32ε² instead of 0, which saves one step in
  // twenty for the largest ε.
  add("slope ∝ ε", slope, 1.99, 2.01);
  // F begins at 1, and each step lowers it by η·Σ‖∇F_k‖ = 2ε · 4 · 11ε/2, less a share of
  // 3/(2·22²): noise of 1/22 of a tensor's gradient in each of the three orthogonal directions
  // turns the steps.
  const double finest = slope.inverse_precisions.back();
  const double straight = finest * finest / 44;
  evidence.numbers.push_back(close_to("slope ∝ ε, ε = 0.0025: steps needed, in 1/(44ε²)",
                                      slope.steps.back() / straight, 1.003, 0.002));
  evidence.figures.push_back(page::draw_keyed_chart({.title = "Steps until ‖∇F‖ ≤ (2 + √D + D)ε",
                                                     .x_label = "1/ε",
                                                     .x_scale = page::Scale::kLog,
                                                     .y_scale = page::Scale::kLog},
                                                    curves));
  return evidence;
}

}  // namespace

std::vector<Claim> convergence_claims() {
  const std::string experiment =
      "A quadratic in 32 dimensions (D = 4) and wells Σx²/(1 + x²) in 24 (D = 3), Gaussian noise; "
      "16 runs, upper end of the 99 % confidence interval, for ε = 0.4 … 0.025.";
  return {
      {"convergence", "convergence-plain",
       "Without centralization: with B = σ²/ε², η = 2ε/L, T = L·F(x₀)/(2ε²), each rounded up, the "
       "average of E‖∇F(x_t)‖ is at most (2 + √D + D)ε.",
       experiment, check_plain},
      {"convergence", "convergence-centralized",
       "With centralization the same holds for ‖∇F‖_φ but not for ‖∇F‖: the row means of the "
       "parameters do not change, and neither does the part of the gradient that depends on them.",
       experiment, check_centralized},
      {"convergence", "convergence-proof",
       "The step of the proof holds with +η√D‖∇F − ∇f‖ (the centralized proof prints a minus), and "
       "the noise of a batch is at most σ/√B (the proof prints σ/B).",
       "Both lines at every step of one run at ε = 0.05.", check_proof},
      {"convergence", "convergence-rate",
       "The number of steps grows no faster than 1/ε², the number of gradients no faster than "
       "1/ε⁴. A fixed function needs fewer; functions whose slope is proportional to ε reach these "
       "bounds.",
       "Steps until ‖∇F‖ is first at most (2 + √D + D)ε; ε = 0.04 … 0.0025; exponents by least "
       "squares.",
       check_rate}};
}

}  // namespace sing::lab::theory
