// Balls that roll, or jump, over the function with three minima: a picture that moves.
#pragma once

#include <string>
#include <vector>

namespace sing::lab::theory {

struct DescentPath {
  std::string label;
  std::string style;              // class names
  std::vector<double> positions;  // x₀ … x_T
};

// The paths stand still in the picture; a ball for each runs along it again and again, all in step.
std::string draw_descent(const std::string& title, const std::vector<DescentPath>& paths);

}  // namespace sing::lab::theory
