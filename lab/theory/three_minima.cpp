// Descends into the three minima, with and without normalization.
#include "lab/theory/three_minima.hpp"

namespace sing::lab::theory {

std::vector<double> descend(const Method& method, Descent kind, double rate,
                            const Schedule& schedule, double start) {
  BlockStandardizer standardized(method, {{1}}, paper_options());
  std::vector<double> path = {start};
  for (int step = 0; step < kFigureSteps; ++step) {
    const Vector gradient = {three_minima_slope(path.back())};
    const double direction = kind == Descent::kSing ? standardized(gradient)[0] : gradient[0];
    path.push_back(path.back() - rate * schedule.factor(step) * direction);
  }
  return path;
}

}  // namespace sing::lab::theory
