// Functions to minimize of which everything that the theorems speak of is known exactly.
#pragma once

#include <functional>

#include "lab/theory/blocks.hpp"

namespace sing::lab::theory {

// Only + − · / and square roots, so that values are the same on every machine. inf F = 0 unless
// said otherwise.
struct Objective {
  std::function<double(const Vector&)> value;
  std::function<Vector(const Vector&)> gradient;
};

// Basins of attraction of x* = 0: the largest ball in { x : ⟨∇F(x), x⟩ ≥ 0 } has exactly the
// radius given.

// s / (1 + s²/r⁴) with s = ‖x‖²: rises until ‖x‖ = r in every direction, then falls.
Objective radial_basin(double radius);

// Σ wᵢ xᵢ² / (1 + xᵢ⁴/rᵢ⁴). In the ball of the smallest rᵢ no term of ⟨∇F(x), x⟩ is negative, and
// beyond it on that axis the sum is: its radius is the smallest rᵢ.
Objective separable_basin(Vector weights, Vector radii);

// Smooth functions: ‖∇F(x) − ∇F(y)‖ ≤ L‖x − y‖ with exactly the constant given.

// ½ Σ λᵢ xᵢ²; L is the largest λᵢ.
Objective quadratic(Vector curvatures);

// Σ xᵢ² / (1 + xᵢ²), not convex. The second derivative 2(1 − 3x²)/(1 + x²)³ is 2 at 0, −½ at its
// other extremum ±1: L = 2.
Objective wells();

// Σ h(xᵢ), h(x) = curvature·x²/2 up to |x| = slope/curvature, then a straight line of that slope:
// L = curvature. The constant slope makes every step count the same.
Objective slopes(double slope, double curvature);

}  // namespace sing::lab::theory
