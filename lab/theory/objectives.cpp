// Implements the objectives and their gradients.
#include "lab/theory/objectives.hpp"

#include <utility>

namespace sing::lab::theory {
namespace {

// Returns Σ value(i, xᵢ) with the gradient derivative(i, xᵢ).
template <class Value, class Derivative>
Objective separable(Value value, Derivative derivative) {
  return {[value](const Vector& x) {
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
              sum += value(i, x[i]);
            }
            return sum;
          },
          [derivative](const Vector& x) {
            Vector gradient(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
              gradient[i] = derivative(i, x[i]);
            }
            return gradient;
          }};
}

double square(double value) { return value * value; }

// (1 − u) / (1 + u)² is the derivative of s / (1 + s²/r⁴) with respect to s, with u = s²/r⁴.
double basin_slope(double s, double radius) {
  const double u = square(s / square(radius));
  return (1 - u) / square(1 + u);
}

double basin_value(double s, double radius) { return s / (1 + square(s / square(radius))); }

}  // namespace

Objective radial_basin(double radius) {
  return {[radius](const Vector& x) { return basin_value(dot(x, x), radius); },
          [radius](const Vector& x) { return scaled(x, 2 * basin_slope(dot(x, x), radius)); }};
}

Objective separable_basin(Vector weights, Vector radii) {
  return separable(
      [weights, radii](std::size_t i, double x) {
        return weights[i] * basin_value(square(x), radii[i]);
      },
      [weights, radii](std::size_t i, double x) {
        return 2 * weights[i] * x * basin_slope(square(x), radii[i]);
      });
}

Objective quadratic(Vector curvatures) {
  return separable([curvatures](std::size_t i, double x) { return curvatures[i] * square(x) / 2; },
                   [curvatures](std::size_t i, double x) { return curvatures[i] * x; });
}

Objective wells() {
  return separable([](std::size_t, double x) { return square(x) / (1 + square(x)); },
                   [](std::size_t, double x) { return 2 * x / square(1 + square(x)); });
}

Objective slopes(double slope, double curvature) {
  const double corner = slope / curvature;
  return separable(
      [=](std::size_t, double x) {
        const double size = std::abs(x);
        return size <= corner ? curvature * square(x) / 2 : slope * (size - corner / 2);
      },
      [=](std::size_t, double x) {
        return std::abs(x) <= corner ? curvature * x : std::copysign(slope, x);
      });
}

}  // namespace sing::lab::theory
