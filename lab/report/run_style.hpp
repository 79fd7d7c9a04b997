// Chooses the color and dash of each run's curves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

inline constexpr std::size_t kColors = 10;
inline constexpr std::size_t kDashes = 4;

// Returns class names, one entry per run. Runs that differ only in their seed have one color and
// different dashes. If there are more runs than styles, colors are repeated with other dashes.
std::vector<std::string> run_styles(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
