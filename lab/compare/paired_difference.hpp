// Compares the results of two contestants seed by seed.
#pragma once

#include <cstdint>
#include <map>

#include "lab/run/run_record.hpp"

namespace sing::lab::compare {

// Runs of one seed start from the same weights and see the same data in the same order.
using ValuesBySeed = std::map<std::int64_t, double>;

struct PairedDifference {
  std::int64_t pairs = 0;
  double mean = run::kAbsent;  // mean of the differences to the other contestant
  // Half the width of the mean's 95 % interval by Student's t; absent for fewer than two pairs.
  double half_width = run::kAbsent;
};

// Covers the seeds that both have. Numbers that are not finite are left out.
PairedDifference paired_difference(const ValuesBySeed& values, const ValuesBySeed& other);

// Returns the 0.975 quantile of Student's t distribution with one degree of freedom or more.
double student_quantile(std::int64_t degrees_of_freedom);

}  // namespace sing::lab::compare
