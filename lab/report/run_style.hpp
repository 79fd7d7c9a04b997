// Which color and dash the curves of a run have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

inline constexpr std::size_t kColors = 10;
inline constexpr std::size_t kDashes = 4;

// Class names, one entry a run. Runs that differ in their seed alone have one color and different
// dashes. With more runs than styles, colors come again with other dashes.
std::vector<std::string> run_styles(const std::vector<run::RunRecord>& runs);

}  // namespace sing::lab::report
