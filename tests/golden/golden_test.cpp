// Drives the optimizer through trajectories recorded from the authors' own implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "sing/optim/optimizer.hpp"
#include "tests/golden/golden_file.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"

namespace sing {
namespace {

using test::Arrays;
using test::DeviceTensor;
using test::golden_file;
using test::GoldenCase;

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    result = std::max(result, std::abs(value));
  }
  return result;
}

// Rounds the file's numbers to the dtype, because those of float32 cases are stored with few
// digits.
std::vector<double> as(Dtype dtype, std::vector<double> values) {
  if (dtype == Dtype::kFloat32) {
    for (double& value : values) {
      value = static_cast<float>(value);
    }
  }
  return values;
}

double moved_from_start(const std::string& name, std::vector<double> values) {
  const std::vector<double> start = as(Dtype::kFloat32, golden_file().start.at(name));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] -= start[i];
  }
  return largest(values);
}

// float64: 1e-12 of the distance the tensor has moved.
// float32, in units of u = 2⁻²⁴ per step, ours and theirs together:
//   - the stored parameter rounds once on either side, and so does its product with the decay:
//     4 u of the parameter;
//   - the update is the end of a chain of about 32 roundings on either side (a mean and a norm over
//     at most 108 elements, the two moments, root, softplus, division): 64 u of the update, which
//     is at most the learning rate times (1 − β1)/√(1 − β2) = 3.2.
// Twelve steps at rate 0.05 and parameters below 3 give 2e-5, less than a thousandth of an update.
double parameter_tolerance(Dtype dtype, int steps, double moved, double parameter) {
  constexpr double kRounding = 0x1p-24;
  constexpr double kLargestUpdate = 0.05 * 3.2;
  return dtype == Dtype::kFloat64 ? 1e-12 * moved
                                  : steps * kRounding * (4 * parameter + 64 * kLargestUpdate);
}

// A moment is a sum of the same chain without the parameter.
double state_tolerance(Dtype dtype, int steps, double size) {
  return (dtype == Dtype::kFloat64 ? 1e-12 : steps * 64 * 0x1p-24) * size;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance)
        << what << " element " << i << ": " << actual[i] << " for " << expected[i];
  }
}

class Replay {
 public:
  Replay(const GoldenCase& golden, std::shared_ptr<Backend> backend)
      : golden_(golden), optimizer_(golden.options, backend) {
    std::vector<Parameter> first;
    std::vector<Parameter> second;
    for (const auto& [name, shape] : golden_file().shapes) {
      const auto [place, added] = parameters_.try_emplace(
          name, backend, golden.dtype, shape, as(Dtype::kFloat32, golden_file().start.at(name)));
      gradients_.try_emplace(name, backend, golden.dtype, shape);
      (name == "bias" || name == "scalar" ? second : first)
          .push_back(place->second.parameter(name));
    }
    optimizer_.add_group(first);
    optimizer_.add_group(second, {{"learning_rate", learning_rate_of(golden.options.rule) / 2}});
  }

  void take_step(int step) {
    const Arrays& given = golden_file().gradients[static_cast<std::size_t>(step)];
    for (auto& [name, gradient] : gradients_) {
      const bool present = given.contains(name);
      if (present) {
        gradient.set(as(Dtype::kFloat32, given.at(name)));
      }
      optimizer_.set_gradient(optimizer_.find_parameter(name), present ? gradient.data() : nullptr);
    }
    optimizer_.set_learning_rate_factor(golden_file().learning_rate_factor(step));
    optimizer_.step();
  }

  void check_parameters(int step, const Arrays& expected) const {
    for (const auto& [name, values] : expected) {
      const std::vector<double> wanted = as(golden_.dtype, values);
      const double tolerance = parameter_tolerance(golden_.dtype, step + 1,
                                                   moved_from_start(name, wanted), largest(wanted));
      expect_near(parameters_.at(name).values(), wanted, tolerance,
                  name + " after step " + std::to_string(step));
    }
  }

  void check_state() {
    for (const auto& [name, slots] : golden_.final_state) {
      const std::size_t index = optimizer_.find_parameter(name);
      EXPECT_EQ(optimizer_.tensor_progress()[index].steps, golden_.final_steps.at(name)) << name;
      const std::vector<StateTensor> state = optimizer_.state(index);
      ASSERT_EQ(state.size(), slots.size()) << name;
      for (const StateTensor& tensor : state) {
        const std::string slot = tensor.name.substr(name.size() + 1);
        const std::vector<double> wanted = as(golden_.dtype, slots.at(slot));
        std::string bytes(wanted.size() * size_of(tensor.dtype), '\0');
        optimizer_.backend().read(bytes.data(), tensor.memory.get(), bytes.size());
        const double tolerance =
            slot == "slow" ? parameter_tolerance(golden_.dtype, golden_file().steps,
                                                 moved_from_start(name, wanted), largest(wanted))
                           : state_tolerance(golden_.dtype, golden_file().steps, largest(wanted));
        expect_near(DeviceTensor::values_of(bytes, tensor.dtype), wanted, tolerance, tensor.name);
      }
    }
  }

 private:
  const GoldenCase& golden_;
  std::map<std::string, DeviceTensor> parameters_;
  std::map<std::string, DeviceTensor> gradients_;
  Optimizer optimizer_;
};

class OfficialSing : public test::BackendTest {};
SING_ON_BACKENDS(OfficialSing, test::all_backends());

TEST_P(OfficialSing, IsReproducedInEveryCase) {
  for (const GoldenCase& golden : golden_file().cases) {
    SCOPED_TRACE(golden.name + " " + std::string(name_of(golden.dtype)));
    Replay replay(golden, backend_);
    for (int step = 0; step < golden_file().steps; ++step) {
      replay.take_step(step);
      const auto expected = golden.parameters_after.find(step);
      if (expected != golden.parameters_after.end()) {
        replay.check_parameters(step, expected->second);
      }
    }
    replay.check_state();
  }
}

TEST(GoldenFile, HoldsNineCasesInTwoTypes) {
  std::map<Dtype, int> count;
  for (const GoldenCase& golden : golden_file().cases) {
    ++count[golden.dtype];
    EXPECT_EQ(golden.parameters_after.size(), 7U);
    EXPECT_EQ(golden.final_state.size(), golden_file().shapes.size());
  }
  EXPECT_EQ(count[Dtype::kFloat64], 9);
  EXPECT_EQ(count[Dtype::kFloat32], 9);
}

// The recorded tensors move a thousand times further than the float32 tolerance, so the test above
// could not pass if parameters did not change.
TEST(GoldenFile, ToleranceIsSmallAgainstOneUpdate) {
  const GoldenCase& golden = golden_file().cases.front();
  const double moved = moved_from_start("linear", golden.parameters_after.at(0).at("linear"));
  EXPECT_GT(moved, 500 * parameter_tolerance(Dtype::kFloat32, golden_file().steps, moved, 3));
}

}  // namespace
}  // namespace sing
