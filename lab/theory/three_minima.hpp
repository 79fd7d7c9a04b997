// Defines a function of one variable with three minima, two of them narrow, for Figure 1; the paper
// does not give its own function.
#pragma once

#include <cmath>
#include <vector>

#include "lab/theory/method.hpp"
#include "sing/optim/schedule.hpp"

namespace sing::lab::theory {

inline double three_minima(double x) {
  return 0.05 * (x - 3) * (x - 3) - 0.40 * std::exp(-(x + 2.5) * (x + 2.5) / 0.08) -
         0.35 * std::exp(-x * x / 0.125);
}

inline double three_minima_slope(double x) {
  return 0.1 * (x - 3) + 10 * (x + 2.5) * std::exp(-(x + 2.5) * (x + 2.5) / 0.08) +
         5.6 * x * std::exp(-x * x / 0.125);
}

// A point's basin, which is bounded by the maxima between the minima.
enum class Basin { kFirst, kSecond, kWide };
inline Basin basin_of(double x) {
  constexpr double kFirstMaximum = -2.092;
  constexpr double kSecondMaximum = 0.567;
  return x < kFirstMaximum ? Basin::kFirst : x < kSecondMaximum ? Basin::kSecond : Basin::kWide;
}

// Returns ten starts to the left of the first minimum.
inline std::vector<double> figure_starts() {
  std::vector<double> starts;
  for (int i = 0; i < 10; ++i) {
    starts.push_back(-4.5 + 0.1 * i);
  }
  return starts;
}

inline constexpr int kFigureSteps = 60;

enum class Descent { kPlain, kSing };

// Returns x₀ … x_T.
std::vector<double> descend(const Method& method, Descent kind, double rate,
                            const Schedule& schedule, double start);

}  // namespace sing::lab::theory
