// Draws a line chart with the names of its curves below it.
#pragma once

#include <string>
#include <vector>

#include "lab/page/line_chart.hpp"

namespace sing::lab::page {

// Returns "" if no curve has a point to show.
std::string draw_keyed_chart(const ChartOptions& options, const std::vector<Curve>& curves);

}  // namespace sing::lab::page
