// Draws an animation of balls that roll or jump over the function with three minima.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::theory {

struct DescentPath {
  std::string label;
  std::string style;              // class names
  std::vector<double> positions;  // x₀ … x_T
};

// The paths are fixed. One ball per path runs along it again and again, and all balls are
// synchronous.
std::string draw_descent(const std::string& title, const std::vector<DescentPath>& paths);

}  // namespace sing::lab::theory
