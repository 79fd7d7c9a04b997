// Defines functions to minimize, for which all constants of the theorems are known exactly.
#pragma once

#include <functional>

#include "lab/theory/blocks.hpp"

namespace sing::lab::theory {

// Only + − · / and square roots are used, so that values are the same on every machine. inf F = 0
// unless stated otherwise.
struct Objective {
  std::function<double(const Vector&)> value;
  std::function<Vector(const Vector&)> gradient;
};

// Basins of attraction of x* = 0: the largest ball in { x : ⟨∇F(x), x⟩ ≥ 0 } has exactly the given
// radius.

// s / (1 + s²/r⁴) with s = ‖x‖² rises until ‖x‖ = r in every direction, then falls.
Objective radial_basin(double radius);

// Σ wᵢ xᵢ² / (1 + xᵢ⁴/rᵢ⁴). In the ball of the smallest rᵢ no term of ⟨∇F(x), x⟩ is negative.
// Beyond it on that axis the sum is negative, so the radius is the smallest rᵢ.
Objective separable_basin(Vector weights, Vector radii);

// Smooth functions: ‖∇F(x) − ∇F(y)‖ ≤ L‖x − y‖ with exactly the given constant L.

// ½ Σ λᵢ xᵢ²; L is the largest λᵢ.
Objective quadratic(Vector curvatures);

// Σ xᵢ² / (1 + xᵢ²) is not convex. The second derivative 2(1 − 3x²)/(1 + x²)³ is 2 at 0 and −½ at
// its other extrema ±1, so L = 2.
Objective wells();

// Σ h(xᵢ), where h(x) = curvature·x²/2 up to |x| = slope/curvature, then a straight line of that
// slope, so L = curvature. The constant slope makes all steps on the line lower F equally.
Objective slopes(double slope, double curvature);

}  // namespace sing::lab::theory
