// Computes means of repeated experiments with confidence intervals, and exponents of power laws.
#pragma once

#include <cmath>
#include <span>

#include "lab/theory/blocks.hpp"

namespace sing::lab::theory {

// Random experiments are repeated this often, with seeds 0, 1, …
inline constexpr std::size_t kRepetitions = 16;

struct Estimate {
  double mean;
  double half_width;  // half of the two-sided 99 % interval

  double upper() const { return mean + half_width; }
  double lower() const { return mean - half_width; }
};

// Returns Student's interval for `kRepetitions` independent values.
inline Estimate estimate(std::span<const double, kRepetitions> values) {
  constexpr double kQuantile = 2.9467;  // 99.5 % quantile of t with 15 degrees of freedom
  const double middle = mean(values);
  double squares = 0;
  for (const double each : values) {
    squares += (each - middle) * (each - middle);
  }
  const double count = static_cast<double>(kRepetitions);
  return {middle, kQuantile * std::sqrt(squares / (count - 1) / count)};
}

struct Fit {
  double exponent;
  double half_width;  // twice the standard error: how far the points lie from a power law
};

// Fits y ∝ x^exponent by least squares of the logarithms. Needs at least three points.
inline Fit fit_power_law(std::span<const double> x, std::span<const double> y) {
  Vector log_x;
  Vector log_y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    log_x.push_back(std::log(x[i]));
    log_y.push_back(std::log(y[i]));
  }
  const double mean_x = mean(log_x);
  const double mean_y = mean(log_y);
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < log_x.size(); ++i) {
    covariance += (log_x[i] - mean_x) * (log_y[i] - mean_y);
    variance += (log_x[i] - mean_x) * (log_x[i] - mean_x);
  }
  const double exponent = covariance / variance;
  double squares = 0;
  for (std::size_t i = 0; i < log_x.size(); ++i) {
    const double residual = log_y[i] - mean_y - exponent * (log_x[i] - mean_x);
    squares += residual * residual;
  }
  const double error = std::sqrt(squares / static_cast<double>(x.size() - 2) / variance);
  return {exponent, 2 * error};
}

}  // namespace sing::lab::theory
