// Makes batches of the task: predict the value of an ill-conditioned quadratic form at a random
// point.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "examples/perceptron/perceptron.hpp"
#include "examples/perceptron/random_numbers.hpp"

namespace example {

struct Batch {
  std::vector<float> inputs;   // (kInputs, kBatch)
  std::vector<float> targets;  // (kBatch)
};

// The target is Σ curvature_i (x_i² − 1) for normal x. The curvatures fall from 1 to 0.01 and are
// scaled so that the targets have variance near 1; predicting 0 then gives a loss near 1.
inline std::array<float, kInputs> curvatures() {
  std::array<float, kInputs> values{};
  float squares = 0;
  for (std::size_t i = 0; i < kInputs; ++i) {
    values[i] = std::pow(0.01F, static_cast<float>(i) / (kInputs - 1));
    squares += 2 * values[i] * values[i];  // the variance of x² is 2
  }
  for (float& value : values) {
    value /= std::sqrt(squares);
  }
  return values;
}

inline Batch make_batch(RandomNumbers& random) {
  static const std::array<float, kInputs> curvature = curvatures();
  Batch batch{std::vector<float>(kInputs * kBatch), std::vector<float>(kBatch)};
  for (std::size_t s = 0; s < kBatch; ++s) {
    for (std::size_t i = 0; i < kInputs; ++i) {
      const float x = random.normal();
      batch.inputs[i * kBatch + s] = x;
      batch.targets[s] += curvature[i] * (x * x - 1);
    }
  }
  return batch;
}

}  // namespace example
