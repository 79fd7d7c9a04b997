// Runs one tensor through an optimizer step by step, for comparison with steps computed by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"

namespace sing::test {

using Values = std::vector<double>;

// Returns options for the rule alone: unchanged gradients, no LookAhead, decay for vectors too.
inline Options bare_rule(const Rule& rule) {
  Options options;
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.rule = rule;
  options.lookahead.reset();
  options.decay_vectors = true;
  return options;
}

// Holds one float64 parameter; take() sets its gradient, takes a step and returns its new values.
class Trajectory {
 public:
  Trajectory(const std::shared_ptr<Backend>& backend, const Options& options,
             std::vector<std::int64_t> shape, const Values& start, Dtype dtype = Dtype::kFloat64)
      : parameter_(backend, dtype, shape, start),
        gradient_(backend, dtype, shape),
        optimizer_({parameter_.parameter("tensor", gradient_)}, options, backend) {}

  Values take(const Values& gradient, double loss_scale = 1) {
    gradient_.set(gradient);
    optimizer_.step(loss_scale);
    return parameter_.values();
  }

  Values state(std::size_t slot) {
    const StateTensor tensor = optimizer_.state(0).at(slot);
    std::string bytes(static_cast<std::size_t>(product(tensor.shape)) * size_of(tensor.dtype),
                      '\0');
    optimizer_.backend().read(bytes.data(), tensor.memory.get(), bytes.size());
    return DeviceTensor::values_of(bytes, tensor.dtype);
  }

  Optimizer& optimizer() { return optimizer_; }

 private:
  DeviceTensor parameter_;
  DeviceTensor gradient_;
  Optimizer optimizer_;
};

// Hand-computed numbers are written with 15 digits or as expressions; double rounds at 1.1e-16 per
// operation, and a step has about ten.
inline constexpr double kHandTolerance = 1e-14;

inline void expect_values(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

}  // namespace sing::test
