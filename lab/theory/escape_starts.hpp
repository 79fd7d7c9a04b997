// Defines where the escape experiments start, and how their parameters are split into tensors.
#pragma once

#include "lab/theory/objectives.hpp"
#include "lab/theory/random_numbers.hpp"

namespace sing::lab::theory {

// Splits 1, 2 and 50 dimensions into D = 1 … 50 tensors. Rows have at least two elements, because
// centering would make shorter rows zero.
inline std::vector<Shapes> escape_cuts() {
  return {{{1}},
          {{1, 2}},
          repeat(2, {1}),
          {{5, 10}},
          repeat(2, {5, 5}),
          {{4, 5}, {10}, {2, 2, 5}},
          repeat(5, {2, 5}),
          repeat(10, {1, 5}),
          repeat(25, {1, 2}),
          repeat(50, {1})};
}

// Returns a vector of length 1 with zero row means and equal tensor norms, for which the escape
// bound is an equality.
inline Vector balanced_direction(const Shapes& shapes) {
  Vector direction(size_of(shapes), 0.0);
  for_each_row(shapes, direction, [](std::span<double> row) {
    row[0] = 1;
    row[1] = -1;
  });
  for_each_block(shapes, direction, [&](std::span<double> block, std::size_t rank) {
    if (rank < 2) {
      block[0] = 1;
    }
    const double size = norm(block) * root(shapes.size());
    for (double& each : block) {
      each /= size;
    }
  });
  return direction;
}

// Returns points in random directions, from almost the center to just inside the sphere.
inline std::vector<Vector> starts_in_ball(std::size_t dimensions, double radius) {
  RandomNumbers random(Experiment::kEscape, dimensions);
  std::vector<Vector> starts;
  for (int each = 0; each < 40; ++each) {
    for (const double share : {1e-6, 0.1, 0.5, 0.9, 1 - 1e-6}) {
      starts.push_back(scaled(random.direction(dimensions), share * radius));
    }
  }
  return starts;
}

// Returns points in random directions at distances uniform in 0 … radius.
inline std::vector<Vector> starts_throughout_ball(std::size_t dimensions, double radius) {
  RandomNumbers random(Experiment::kFigures, dimensions);
  std::vector<Vector> starts;
  for (int each = 0; each < 200; ++each) {
    Vector start = random.direction(dimensions);
    starts.push_back(scaled(std::move(start), radius * random.uniform()));
  }
  return starts;
}

}  // namespace sing::lab::theory
