// Computes the mean of paired differences and its interval.
#include "lab/compare/paired_difference.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace sing::lab::compare {
namespace {

constexpr std::array kQuantiles = {12.706, 4.303, 3.182, 2.776, 2.571,
                                   2.447,  2.365, 2.306, 2.262, 2.228};

}  // namespace

// Beyond the table, the first terms of the expansion around the normal distribution (Abramowitz and
// Stegun 26.7.5) are right to 1e-4.
double student_quantile(std::int64_t degrees_of_freedom) {
  if (degrees_of_freedom <= static_cast<std::int64_t>(kQuantiles.size())) {
    return kQuantiles[static_cast<std::size_t>(degrees_of_freedom - 1)];
  }
  constexpr double kNormal = 1.959964;
  const auto freedom = static_cast<double>(degrees_of_freedom);
  const double cube = std::pow(kNormal, 3);
  const double fifth = std::pow(kNormal, 5);
  const double seventh = std::pow(kNormal, 7);
  return kNormal + (cube + kNormal) / (4 * freedom) +
         (5 * fifth + 16 * cube + 3 * kNormal) / (96 * freedom * freedom) +
         (3 * seventh + 19 * fifth + 17 * cube - 15 * kNormal) / (384 * std::pow(freedom, 3));
}

PairedDifference paired_difference(const ValuesBySeed& values, const ValuesBySeed& other) {
  std::vector<double> differences;
  double sum = 0;
  for (const auto& [seed, value] : values) {
    const auto partner = other.find(seed);
    if (partner != other.end() && std::isfinite(value - partner->second)) {
      differences.push_back(value - partner->second);
      sum += differences.back();
    }
  }
  PairedDifference result{.pairs = static_cast<std::int64_t>(differences.size())};
  const auto count = static_cast<double>(differences.size());
  if (count > 0) {
    result.mean = sum / count;
  }
  if (count > 1) {
    double squares = 0;
    for (const double difference : differences) {
      squares += (difference - result.mean) * (difference - result.mean);
    }
    result.half_width =
        student_quantile(result.pairs - 1) * std::sqrt(squares / (count - 1) / count);
  }
  return result;
}

}  // namespace sing::lab::compare
