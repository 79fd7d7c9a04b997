// Count, mean and squared deviations of a set of values, which combine without cancellation.
#pragma once

#include <cstdint>

#include "sing/base/portable.hpp"

namespace sing::cpu {

// The count, the mean and Σ(x − mean)² of some values.
struct SampleMoments {
  std::int64_t count = 0;
  double mean = 0;
  double centred_squares = 0;
};

// The moments of both sets of values together (Chan, Golub, LeVeque).
SING_HOST_DEVICE SampleMoments combine(const SampleMoments& a, const SampleMoments& b) {
  if (a.count == 0 || b.count == 0) {
    return a.count == 0 ? b : a;
  }
  const auto count_a = static_cast<double>(a.count);
  const auto count_b = static_cast<double>(b.count);
  const double count = count_a + count_b;
  const double delta = b.mean - a.mean;
  return {a.count + b.count, a.mean + delta * (count_b / count),
          a.centred_squares + b.centred_squares + delta * delta * (count_a * count_b / count)};
}

// Σ x² of the values.
SING_HOST_DEVICE double squares(const SampleMoments& m) {
  return m.centred_squares + static_cast<double>(m.count) * m.mean * m.mean;
}

}  // namespace sing::cpu
