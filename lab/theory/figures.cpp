// Checks and draws Figure 1, the conditions for escape by rate and number of tensors, and the
// appendix's two schedules.
#include <algorithm>
#include <cmath>

#include "lab/page/line_chart.hpp"
#include "lab/theory/claims.hpp"
#include "lab/theory/descent_drawing.hpp"
#include "lab/theory/escape_starts.hpp"
#include "lab/theory/three_minima.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

using page::Curve;
using page::curve_point;

const Schedule kCosine{WarmupCosine{.total_steps = kFigureSteps}};
const Schedule kHold{WarmupHoldCosine{.hold_steps = kFigureSteps / 2, .total_steps = kFigureSteps}};

double count_in(const Method& method, Descent kind, double rate, const Schedule& schedule,
                Basin basin) {
  double count = 0;
  for (const double start : figure_starts()) {
    count += basin_of(descend(method, kind, rate, schedule, start).back()) == basin ? 1 : 0;
  }
  return count;
}

Curve sweep(const Method& method, Descent kind, const Schedule& schedule, Curve curve) {
  for (int at = 1; at <= 60; ++at) {
    const double rate = 0.05 * at;
    curve.points.push_back(curve_point(rate, count_in(method, kind, rate, schedule, Basin::kWide)));
  }
  return curve;
}

double rates_that_always_succeed(const Curve& curve) {
  return static_cast<double>(std::count_if(curve.points.begin(), curve.points.end(),
                                           [](const auto& point) { return point.y == 10; }));
}

Evidence check_descent(const Method& method) {
  const std::vector<Curve> by_rate = {
      sweep(method, Descent::kPlain, kCosine, {"gradient descent", "color1", {}}),
      sweep(method, Descent::kSing, kCosine, {"gradient descent + SING", "color0", {}})};
  const auto count = [&](Descent kind, double rate, Basin basin) {
    return count_in(method, kind, rate, kCosine, basin);
  };
  Evidence evidence{{
      exactly("gradient descent, η = 0.5: starts that end in the second minimum",
              count(Descent::kPlain, 0.5, Basin::kSecond), 10),
      exactly("SING, η = 2: starts that end in the wide one",
              count(Descent::kSing, 2, Basin::kWide), 10),
      exactly("SING, η = 0.4: starts that stay in the first",
              count(Descent::kSing, 0.4, Basin::kFirst), 10),
      exactly("gradient descent, η = 1.2: starts that end in the wide one",
              count(Descent::kPlain, 1.2, Basin::kWide), 10),
      shown("rates, of 60, at which gradient descent gets there from every start",
            rates_that_always_succeed(by_rate[0])),
      shown("and SING", rates_that_always_succeed(by_rate[1])),
  }};
  const double start = -4;
  evidence.figures.push_back(draw_descent("Figure 1: three minima, cosine decay over 60 steps",
                                          {{"gradient descent, η = 0.5", "color1",
                                            descend(method, Descent::kPlain, 0.5, kCosine, start)},
                                           {"gradient descent + SING, η = 2", "color0",
                                            descend(method, Descent::kSing, 2, kCosine, start)}}));
  evidence.figures.push_back(page::draw_keyed_chart(
      {.title = "The same by learning rate: starts, of ten, that end in the wide minimum",
       .x_label = "learning rate",
       .from_zero = true},
      by_rate));
  return evidence;
}

// Returns, for each rate, the share of starts in the ball of radius 1 that leave it in one step.
std::vector<double> shares_that_leave(const Method& method, const Shapes& shapes,
                                      const std::vector<double>& rates) {
  const Objective objective = radial_basin(1);
  BlockStandardizer standardized(method, shapes, paper_options());
  const std::vector<Vector> starts = starts_throughout_ball(size_of(shapes), 1);
  std::vector<double> shares(rates.size(), 0.0);
  for (const Vector& start : starts) {
    const Vector direction = standardized(objective.gradient(start));
    for (std::size_t at = 0; at < rates.size(); ++at) {
      Vector next = start;
      add_scaled(next, -rates[at], direction);
      shares[at] += norm(next) > 1 ? 1.0 / static_cast<double>(starts.size()) : 0;
    }
  }
  return shares;
}

Evidence check_basin(const Method& method) {
  std::vector<double> rates(111);
  for (std::size_t at = 0; at < rates.size(); ++at) {
    rates[at] = 0.02 * static_cast<double>(at);
  }
  Evidence evidence;
  std::vector<Curve> curves;
  for (const Shapes& shapes : {Shapes{{5, 10}}, repeat(2, {5, 5}), repeat(5, {2, 5}),
                               repeat(10, {1, 5}), repeat(50, {1})}) {
    Curve curve{fmt::format("D = {}", shapes.size()), fmt::format("color{}", curves.size()), {}};
    const std::vector<double> shares = shares_that_leave(method, shapes, rates);
    double last_that_stayed = 0;
    for (std::size_t at = 0; at < rates.size(); ++at) {
      curve.points.push_back(curve_point(rates[at], shares[at]));
      last_that_stayed = shares[at] < 1 - 1e-9 ? rates[at] : last_that_stayed;
    }
    evidence.numbers.push_back(
        at_most(fmt::format("{}: largest rate at which a start stays, in 2r/√D", curve.label),
                last_that_stayed / 2 * root(shapes.size()), 1));
    curves.push_back(curve);
  }
  evidence.figures.push_back(page::draw_keyed_chart(
      {.title = "Share of starts in a ball of radius 1 that one step takes out",
       .x_label = "learning rate",
       .from_zero = true},
      curves));
  return evidence;
}

double mean_distance(const Method& method, const Schedule& schedule, double rate) {
  double sum = 0;
  for (const double start : figure_starts()) {
    sum += std::abs(descend(method, Descent::kSing, rate, schedule, start).back() - 3);
  }
  return sum / static_cast<double>(figure_starts().size());
}

Evidence check_schedules(const Method& method) {
  const std::vector<Curve> curves = {
      sweep(method, Descent::kSing, kCosine, {"cosine", "color0", {}}),
      sweep(method, Descent::kSing, kHold, {"hold, then cosine", "color2", {}})};
  double cosine_better = 0;
  double hold_better = 0;
  for (std::size_t at = 0; at < curves[0].points.size(); ++at) {
    cosine_better += curves[0].points[at].y > curves[1].points[at].y ? 1 : 0;
    hold_better += curves[1].points[at].y > curves[0].points[at].y ? 1 : 0;
  }
  Evidence evidence{{
      exactly("η = 2, cosine: starts that end in the wide minimum",
              count_in(method, Descent::kSing, 2, kCosine, Basin::kWide), 10),
      exactly("η = 2, hold: starts that end in the wide minimum",
              count_in(method, Descent::kSing, 2, kHold, Basin::kWide), 10),
      at_most("η = 2, cosine: mean distance from it at the end", mean_distance(method, kCosine, 2),
              0.1),
      at_most("η = 2, hold: mean distance from it at the end", mean_distance(method, kHold, 2),
              0.1),
      at_least("rates, of 60, at which more starts succeed with the cosine", cosine_better, 1),
      at_least("and with the hold", hold_better, 1),
  }};
  evidence.figures.push_back(
      page::draw_keyed_chart({.title = "SING: starts, of ten, that end in the wide minimum",
                              .x_label = "learning rate",
                              .from_zero = true},
                             curves));
  return evidence;
}

}  // namespace

std::vector<Claim> figure_claims() {
  return {
      {"figures", "figure-descent",
       "Figure 1: on a function with three minima, gradient descent stays in the second and SING "
       "reaches the wide one. This depends on the two learning rates: with a larger rate, gradient "
       "descent reaches it too, and with a smaller rate, SING does not.",
       "0.05(x − 3)² with two narrow wells, ten starts, 60 steps, cosine decay; learning rates "
       "0.05 … 3.",
       check_descent},
      {"figures", "figure-escape",
       "For every number of tensors D, all starts leave the basin at rates above 2r/√D, and most "
       "leave at much smaller rates.",
       "A radial basin in 50 dimensions, 200 starts at distances uniform in 0 … r, one step at "
       "rates 0 … 2.2.",
       check_basin},
      {"figures", "figure-schedules",
       "A constant rate followed by a decay reaches the wide minimum, as the cosine does. On this "
       "function, neither is better at every rate.",
       "The function of Figure 1; a cosine from the first step, or after half of the steps.",
       check_schedules}};
}

}  // namespace sing::lab::theory
