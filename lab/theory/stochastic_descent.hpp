// Runs descent on noisy gradients as in the convergence theorems, and measures the quantities that
// they bound.
#pragma once

#include <cstdint>
#include <string>

#include "lab/theory/estimate.hpp"
#include "lab/theory/method.hpp"
#include "lab/theory/objectives.hpp"
#include "lab/theory/random_numbers.hpp"

namespace sing::lab::theory {

struct Problem {
  std::string name;
  Objective objective;
  double smoothness = 1;  // L
  double deviation = 1;   // σ: E‖∇f − ∇F‖² = σ² for one sample
  Shapes shapes = {};
  Vector start = {};
};

// The theorems' choices for a precision ε, rounded up.
struct Plan {
  double precision;    // ε
  double batch;        // B = ⌈σ²/ε²⌉
  double rate;         // η = 2ε/L
  std::int64_t steps;  // T = ⌈L F(x₀)/(2ε²)⌉
};

Plan plan_for(const Problem& problem, double precision);

// The quantities of one step that the proofs use.
struct DescentStep {
  const Vector& gradient;  // ∇F(x)
  const Vector& noise;     // ∇f(x) − ∇F(x)
  double value;            // F(x)
  double next_value;       // F(x₊)
};

class StochasticDescent {
 public:
  StochasticDescent(const Method& method, const Problem& problem, const Plan& plan,
                    const Standardize& options, std::uint64_t repetition);

  // The mean of B independent Gaussian samples is Gaussian, so it is drawn as one sample.
  DescentStep step();

  // Returns ∇F at the current point.
  const Vector& gradient() const { return gradient_; }
  const Vector& point() const { return point_; }

 private:
  const Problem& problem_;
  Plan plan_;
  double element_deviation_;
  BlockStandardizer standardize_;
  RandomNumbers random_;
  Vector point_;
  Vector gradient_;
  Vector gradient_before_;
  Vector noise_;
  double value_;
};

// Returns the average of ‖∇F(x_t)‖, or of ‖∇F(x_t)‖_φ if `options` centralize, over t < T,
// estimated from kRepetitions runs.
Estimate average_gradient(const Method& method, const Problem& problem, const Plan& plan,
                          const Standardize& options);

// Returns the number of steps until that norm is first at most `target`, averaged over kRepetitions
// runs. A run that does not reach it within T steps counts as T.
double needed_steps(const Method& method, const Problem& problem, const Plan& plan,
                    const Standardize& options, double target);

}  // namespace sing::lab::theory
