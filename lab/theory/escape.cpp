// Checks Theorem 3.1: a step of length η√D leaves a ball of radius r once it is longer than the
// ball's diameter.
#include <cmath>

#include "lab/theory/claims.hpp"
#include "lab/theory/escape_starts.hpp"
#include "lab/theory/estimate.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

constexpr double kRadius = 0.75;
// A start is at most (1 − 1e-6) r from the center, so a step of 2r takes it at least this many
// radii beyond the sphere.
constexpr double kBeyond = 0.999e-6;
constexpr double kRounding = 1e-12;  // thousands of roundings of doubles near 1

double distance_after(const Vector& start, double rate, const Vector& direction) {
  Vector next = start;
  add_scaled(next, -rate, direction);
  return norm(next) / kRadius;
}

// Returns both kinds of basin with one radius, in as many dimensions as the shapes have.
std::vector<Objective> basins(const Shapes& shapes) {
  Vector weights;
  Vector radii;
  const std::size_t size = size_of(shapes);
  for (std::size_t i = 0; i < size; ++i) {
    weights.push_back(std::ldexp(1.0, static_cast<int>(7 * i % 21) - 10));
    radii.push_back(kRadius * (1 + 0.25 * static_cast<double>(i)));
  }
  return {radial_basin(kRadius), separable_basin(weights, radii)};
}

Evidence check_bound(const Method& method) {
  double nearest = HUGE_VAL;
  double starts = 0;
  double left = 0;
  for (const Shapes& shapes : escape_cuts()) {
    BlockStandardizer standardized(method, shapes, paper_options());
    const double rate = 2 * kRadius / root(shapes.size());
    for (const Objective& objective : basins(shapes)) {
      for (const Vector& start : starts_in_ball(size_of(shapes), kRadius)) {
        const double landed = distance_after(start, rate, standardized(objective.gradient(start)));
        nearest = std::min(nearest, landed);
        starts += 1;
        left += landed > 1 ? 1 : 0;
      }
    }
  }
  return {{shown("starts", starts), exactly("share of them that left", left / starts, 1),
           at_least("least distance beyond the sphere, in radii", nearest - 1, kBeyond)}};
}

// The direction is balanced, so the gradient of an even and symmetric F is parallel to the point in
// every tensor. On the sphere the radial basin has no gradient, but the separable one has.
Evidence check_boundary(const Method& method) {
  double farthest_from_antipode = 0;
  double off_sphere = 0;
  for (const Shapes& shapes : escape_cuts()) {
    if (size_of(shapes) == 1) {
      continue;
    }
    const std::size_t size = size_of(shapes);
    const Objective objective = separable_basin(Vector(size, 1.0), Vector(size, kRadius));
    BlockStandardizer standardized(method, shapes, paper_options());
    const Vector start = scaled(balanced_direction(shapes), kRadius);
    if (largest(start) == kRadius) {
      continue;  // on an axis, where this basin ends
    }
    Vector next = start;
    add_scaled(next, -2 * kRadius / root(shapes.size()), standardized(objective.gradient(start)));
    off_sphere = std::max(off_sphere, std::abs(norm(next) / kRadius - 1));
    add_scaled(next, 1, start);
    farthest_from_antipode = std::max(farthest_from_antipode, norm(next) / kRadius);
  }
  return {{at_most("distance of the landing from the sphere, in radii", off_sphere, kRounding),
           at_most("and from the antipode", farthest_from_antipode, kRounding)}};
}

Evidence check_tightness(const Method& method) {
  constexpr double kStart = 0.999;
  constexpr double kShare = 0.99;
  double nearest = HUGE_VAL;
  double farthest = 0;
  for (const Shapes& shapes : escape_cuts()) {
    BlockStandardizer standardized(method, shapes, paper_options());
    const Vector start = scaled(balanced_direction(shapes), kStart * kRadius);
    const double rate = kShare * 2 * kRadius / root(shapes.size());
    const Vector gradient = radial_basin(kRadius).gradient(start);
    const double landed = distance_after(start, rate, standardized(gradient));
    nearest = std::min(nearest, landed);
    farthest = std::max(farthest, landed);
  }
  const double expected = 2 * kShare - kStart;
  return {{close_to("nearest landing, in radii", nearest, expected, kRounding),
           close_to("farthest landing, in radii", farthest, expected, kRounding)}};
}

// Finds by bisection the rate below which a step from just inside the ball stays inside.
double needed_rate(const Method& method, const Shapes& shapes) {
  BlockStandardizer standardized(method, shapes, paper_options());
  const Vector start = scaled(balanced_direction(shapes), 0.999 * kRadius);
  const Vector direction = standardized(radial_basin(kRadius).gradient(start));
  double stays = 0.001 * kRadius;
  double leaves = 4 * kRadius;
  for (int halving = 0; halving < 50; ++halving) {
    const double middle = (stays + leaves) / 2;
    (distance_after(start, middle, direction) > 1 ? leaves : stays) = middle;
  }
  return leaves;
}

Evidence check_tensors(const Method& method) {
  Vector counts;
  Vector rates;
  double farthest = 0;
  for (const Shapes& shapes : escape_cuts()) {
    if (size_of(shapes) != 50) {
      continue;
    }
    counts.push_back(static_cast<double>(shapes.size()));
    rates.push_back(needed_rate(method, shapes));
    const double expected = 1.999 * kRadius / root(shapes.size());
    farthest = std::max(farthest, std::abs(rates.back() / expected - 1));
  }
  const Fit fit = fit_power_law(counts, rates);
  return {{close_to("exponent of D in the rate needed", fit.exponent, -0.5, 1e-6),
           at_most("largest deviation from 1.999 r / √D", farthest, kRounding)}};
}

Evidence check_gradient_descent(const Method& /*method*/) {
  double nearest = HUGE_VAL;
  double farthest_kept = 0;
  for (const Shapes& shapes : {Shapes{{1}}, Shapes{{2}}, Shapes{{50}}}) {
    for (const Objective& objective : basins(shapes)) {
      for (const Vector& start : starts_in_ball(size_of(shapes), kRadius)) {
        const Vector gradient = objective.gradient(start);
        const double size = norm(gradient);
        nearest = std::min(nearest, distance_after(start, 2 * kRadius / size, gradient));
        const double least = (kRadius - norm(start)) / size;
        farthest_kept = std::max(farthest_kept, distance_after(start, 0.99 * least, gradient));
      }
    }
  }
  std::vector<Number> numbers = {
      at_least("least distance beyond the sphere at 2r/‖∇F‖, in radii", nearest - 1, kBeyond),
      at_least("least distance inside it at 0.99 (r − ‖x − x*‖)/‖∇F‖", 1 - farthest_kept,
               0.999e-8)};
  Vector distances;
  Vector rates;
  for (int exponent = 3; exponent <= 12; ++exponent) {
    const double share = std::pow(10.0, -exponent);
    const Vector start = {share * kRadius};
    const double slope = norm(radial_basin(kRadius).gradient(start));
    distances.push_back(share);
    rates.push_back((kRadius - norm(start)) / slope);
    if (exponent % 3 == 0) {
      numbers.push_back(
          shown(fmt::format("rate that escape needs at 1e-{} r", exponent), rates.back()));
    }
  }
  const Fit fit = fit_power_law(distances, rates);
  numbers.push_back(close_to("its exponent in the distance", fit.exponent, -1, 1e-3));
  return {numbers};
}

Evidence check_normalized_descent(const Method& method) {
  double nearest = HUGE_VAL;
  for (const Shapes& shapes : {Shapes{{1}}, Shapes{{2}}, Shapes{{50}}}) {
    BlockStandardizer normalized(method, shapes, normalization_only());
    for (const Objective& objective : basins(shapes)) {
      for (const Vector& start : starts_in_ball(size_of(shapes), kRadius)) {
        const Vector& direction = normalized(objective.gradient(start));
        nearest = std::min(nearest, distance_after(start, 2 * kRadius, direction));
      }
    }
  }
  return {{at_least("least distance beyond the sphere at 2r, in radii", nearest - 1, kBeyond)}};
}

Evidence check_zero_blocks(const Method& method) {
  constexpr std::size_t kTensors = 10;
  const Shapes shapes = repeat(kTensors, {1, 5});
  BlockStandardizer standardized(method, shapes, paper_options());
  const Objective objective = radial_basin(kRadius);
  const auto start_with = [](std::size_t live, double length, double constant) {
    Vector start(5 * kTensors, constant);
    for (std::size_t block = 0; block < live; ++block) {
      const double part = length / std::sqrt(2.0 * static_cast<double>(live));
      std::fill_n(start.begin() + static_cast<std::ptrdiff_t>(5 * block), 5, 0.0);
      start[5 * block] = part;
      start[5 * block + 1] = -part;
    }
    return start;
  };
  double length_error = 0;
  for (std::size_t live = 0; live <= kTensors; ++live) {
    const Vector gradient = objective.gradient(start_with(live, 0.8 * kRadius, 0.03 * kRadius));
    length_error = std::max(length_error, std::abs(norm(standardized(gradient)) - root(live)));
  }
  // 25 elements of 0.02 r each form the constant part of the point, which does not change.
  const Vector half = start_with(5, 0.9 * kRadius, 0.02 * kRadius);
  const Vector direction = standardized(objective.gradient(half));
  const double overlooked = distance_after(half, 2 * kRadius / root(kTensors), direction);
  const double expected = std::hypot(0.9 - 2 * std::sqrt(0.5), 0.1);
  const double corrected = distance_after(half, 2 * kRadius / root(5), direction);
  const Vector& none = standardized(objective.gradient(Vector(50, 0.1 * kRadius)));
  return {{at_most("largest error of ‖step‖ = η√D′, D′ = 0 … 10", length_error, kRounding),
           close_to("landing at 2r/√10 with D′ = 5, in radii", overlooked, expected, kRounding),
           at_least("landing at 2r/√5, in radii", corrected, 1),
           exactly("length of the step with D′ = 0", norm(none), 0)}};
}

}  // namespace

std::vector<Claim> escape_claims() {
  return {
      {"escape", "escape-bound",
       "From every point of the open ball of radius r about x*, a SING step with η ≥ 2r/√D ends "
       "outside it.",
       "Two functions with known basins in 1, 2 and 50 dimensions, divided into D = 1 … 50 "
       "tensors; random starts from 1e-6 r to (1 − 1e-6) r; one step at η = 2r/√D.",
       check_bound},
      {"escape", "escape-boundary",
       "On the closed ball the bound is not sufficient: at ‖x − x*‖ = r and η = 2r/√D the step can "
       "land on the antipode, which is in the closed ball.",
       "Starts on the sphere whose tensors have equal norms and zero row means.", check_boundary},
      {"escape", "escape-tight",
       "The bound is tight: if F is radial, all tensors have equal norms and all rows have zero "
       "mean, 0.99 of the bound does not leave the ball.",
       "One step at η = 0.99 · 2r/√D from 0.999 r; it lands at (2 · 0.99 − 0.999) r.",
       check_tightness},
      {"escape", "escape-tensors",
       "The learning rate needed to escape is proportional to 1/√D, not to 1/D, with D the number "
       "of tensors.",
       "50 dimensions divided into 1 to 50 tensors; the smallest rate that leaves from 0.999 r, by "
       "bisection.",
       check_tensors},
      {"escape", "escape-gradient-descent",
       "Gradient descent leaves the ball at η = 2r/‖∇F(x)‖ and cannot leave it below (r − ‖x − "
       "x*‖)/‖∇F(x)‖, which is unbounded near x*.",
       "The functions and starts of escape-bound; then starts at 1e-3 r … 1e-12 r.",
       check_gradient_descent},
      {"escape", "escape-normalized-descent",
       "Normalized gradient descent, with one norm for all parameters, leaves the ball at η = 2r.",
       "The functions and starts of escape-bound, with one tensor and without centralization.",
       check_normalized_descent},
      {"escape", "escape-zero-blocks",
       "The theorem overlooks tensors whose centered gradient is zero, which do not move. With D′ "
       "other tensors the step has length η√D′; with D′ = 0 there is no step at any rate.",
       "Ten tensors, some with row-constant gradients. With D′ = 5 the step at 2r/√10 stays in "
       "the ball.",
       check_zero_blocks}};
}

}  // namespace sing::lab::theory
