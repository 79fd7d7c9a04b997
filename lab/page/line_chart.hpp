// Writes charts of curves over one axis.
#pragma once

#include <string>
#include <vector>

#include "lab/page/axis.hpp"
#include "lab/page/thin_curve.hpp"

namespace sing::lab::page {

struct Curve {
  std::string label;
  std::string style;  // class names
  std::vector<CurvePoint> points;
  bool diverged = false;  // marked, and ignored in the chart's range if other curves have points
};

struct ChartOptions {
  std::string title;
  std::string x_label;
  Scale x_scale = Scale::kLinear;
  Scale y_scale = Scale::kLinear;
  bool from_zero = false;
};

// Returns a figure with the curves as JSON, which the page's script draws, or "" if no curve has a
// point to show.
std::string draw_line_chart(const ChartOptions& options, const std::vector<Curve>& curves);

// The same with the names of its curves below it.
std::string draw_keyed_chart(const ChartOptions& options, const std::vector<Curve>& curves);

}  // namespace sing::lab::page
