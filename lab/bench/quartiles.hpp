// Computes the median and quartiles of a few measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace sing::lab::bench {

struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
};

// Interpolates linearly between the two nearest ranks, like numpy's default. Needs at least one
// value.
inline Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], position - std::floor(position));
  };
  return {.lower = at(0.25), .median = at(0.5), .upper = at(0.75)};
}

}  // namespace sing::lab::bench
