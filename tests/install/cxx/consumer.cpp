// Uses the installed library from C++: one SGD step on a standardized gradient, compared with the
// step computed by hand.
#include <cmath>
#include <cstdio>
#include <sing/sing.hpp>

int main() {
  float weight[2] = {1.0F, 1.0F};
  const float gradient[2] = {3.0F, 1.0F};
  sing::Optimizer optimizer(
      {{.name = "weight", .data = weight, .shape = {1, 2}, .gradient = gradient}},
      {.rule = sing::Sgd{.learning_rate = 0.5}, .lookahead = std::nullopt});
  optimizer.step();

  // (3, 1) minus its row's mean 2 is (1, -1), with norm sqrt(2).
  const float step = 0.5F / std::sqrt(2.0F);
  if (std::abs(weight[0] - (1 - step)) > 1e-6F || std::abs(weight[1] - (1 + step)) > 1e-6F) {
    std::printf("wanted %g %g, got %g %g\n", 1 - step, 1 + step, weight[0], weight[1]);
    return 1;
  }
  return 0;
}
