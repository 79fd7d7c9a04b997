// Draws random reals for the checks, from fixed seeds and the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

#include "lab/random/random_stream.hpp"
#include "lab/theory/blocks.hpp"

namespace sing::lab::theory {

enum class Experiment : std::uint32_t {
  kEscape,
  kInvariance,
  kLemmas,
  kConvergence,
  kClipping,
  kCalibrated,
  kFigures,
};

class RandomNumbers {
 public:
  // Each experiment and repetition has its own stream.
  RandomNumbers(Experiment experiment, std::uint64_t repetition)
      : stream_(0, repetition, static_cast<std::uint32_t>(experiment)) {}

  // Returns a number in (0, 1), a multiple of 2⁻³³.
  double uniform() { return (stream_.next() + 0.5) * 0x1p-32; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Returns a standard normal number by the ratio of uniforms (Leva 1992, "A fast normal random
  // number generator"). The value comes from a division alone, whose result IEEE 754 defines. The
  // logarithm, which libraries round differently, only decides whether a pair is accepted.
  double normal() {
    for (;;) {
      const double u = uniform();
      const double v = 1.7156 * (uniform() - 0.5);
      const double x = u - 0.449871;
      const double y = std::abs(v) + 0.386595;
      const double q = x * x + y * (0.19600 * y - 0.25472 * x);
      if (q < 0.27597 || (q <= 0.27846 && v * v <= -4 * u * u * std::log(u))) {
        return v / u;
      }
    }
  }

  Vector normals(std::size_t count) {
    Vector values(count);
    for (double& each : values) {
      each = normal();
    }
    return values;
  }

  // Returns a point uniform on the sphere of radius 1.
  Vector direction(std::size_t count) {
    Vector values = normals(count);
    return scaled(values, 1 / norm(values));
  }

 private:
  random::RandomStream stream_;
};

}  // namespace sing::lab::theory
