// Checks one optimizer over several devices: it has the numbers, counters and files of one device,
// and steps are skipped on all devices or on none. The devices here are names for the CPU.
#include "adapters/tensor/multi_device_optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>

#include "tests/support/message_of.hpp"
#include "tests/support/random_values.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::HasSubstr;
using Values = std::vector<float>;

constexpr Device kHost{};
constexpr Device kFirst{.type = DeviceType::kCuda, .index = 0};
constexpr Device kSecond{.type = DeviceType::kCuda, .index = 1};
const Device kPlaces[] = {kHost, kFirst, kSecond, kFirst};

std::shared_ptr<Backend> make_backend(const Device& /*device*/) {
  return make_cpu_backend({.threads = 1});
}

Values random_floats(std::uint64_t seed, std::size_t count) {
  const std::vector<double> values = test::random_values(seed, static_cast<std::int64_t>(count));
  return {values.begin(), values.end()};
}

// Has four 3 × 4 matrices "0" to "3" in two groups, on the given devices.
class FourMatrices {
 public:
  explicit FourMatrices(std::vector<Device> devices, const Options& options = {})
      : optimizer_(options, make_backend) {
    for (std::size_t i = 0; i < 4; ++i) {
      weights_.push_back(random_floats(i, 12));
      gradients_.emplace_back(12);
    }
    for (std::size_t first : {std::size_t{0}, std::size_t{2}}) {
      std::vector<PlacedParameter> group;
      for (std::size_t i = first; i < first + 2; ++i) {
        group.push_back({devices[i], parameter(i)});
      }
      optimizer_.add_group(group, {{"lookahead_period", std::int64_t{3}}});
    }
  }

  Parameter parameter(std::size_t i) {
    return {.name = std::to_string(i), .data = weights_[i].data(), .shape = {3, 4}};
  }

  void give_gradients(int step) {
    for (std::size_t i = 0; i < 4; ++i) {
      gradients_[i] = random_floats(100 + 10 * static_cast<std::uint64_t>(step) + i, 12);
      optimizer_.set_gradient(i, gradients_[i].data(), Dtype::kFloat32);
    }
  }

  void take_steps(int first, int last) {
    for (int step = first; step < last; ++step) {
      give_gradients(step);
      optimizer_.step();
    }
  }

  MultiDeviceOptimizer& optimizer() { return optimizer_; }
  std::vector<Values>& weights() { return weights_; }
  std::vector<Values>& gradients() { return gradients_; }

 private:
  std::vector<Values> weights_, gradients_;
  MultiDeviceOptimizer optimizer_;
};

std::vector<Device> several() { return {std::begin(kPlaces), std::end(kPlaces)}; }
std::vector<Device> one() { return std::vector<Device>(4, kHost); }

TEST(MultiDevice, HasTheBitsOfOneDevice) {
  FourMatrices alone(one());
  FourMatrices mixed(several());
  EXPECT_EQ(mixed.optimizer().devices(), (std::vector{kHost, kFirst, kSecond}));
  alone.take_steps(0, 8);
  mixed.take_steps(0, 8);
  EXPECT_EQ(alone.weights(), mixed.weights());
  EXPECT_EQ(alone.optimizer().gradient_norms(), mixed.optimizer().gradient_norms());
  EXPECT_EQ(mixed.optimizer().tensor_progress()[3].steps, 8);
}

// Without centralization, the measure before the step adds up squares in the order of the step.
Options clipping_options() {
  Options options{.rule = AdamW{}};
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.clip_norm = 0.5;
  return options;
}

TEST(MultiDevice, ClipsByTheNormOfTheGradientsOnAllDevices) {
  for (const NonFinite policy :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kPassThrough}) {
    Options options = clipping_options();
    options.non_finite = policy;
    FourMatrices alone(one(), options);
    FourMatrices mixed(several(), options);
    for (int step = 0; step < 6; ++step) {
      for (FourMatrices* run : {&alone, &mixed}) {
        run->give_gradients(step);
        run->optimizer().step(step % 2 == 0 ? 1 : 1024);
      }
    }
    EXPECT_EQ(alone.weights(), mixed.weights());
  }
}

TEST(MultiDevice, ClippingCanBeTurnedOnAndOff) {
  FourMatrices alone(one(), clipping_options());
  FourMatrices mixed(several(), clipping_options());
  for (FourMatrices* run : {&alone, &mixed}) {
    run->take_steps(0, 2);
    run->optimizer().set_options(0, {{"clip_norm", "none"}});
    run->take_steps(2, 4);
    run->optimizer().set_options(1, {{"clip_norm", "none"}});
    run->take_steps(4, 6);
    run->optimizer().set_options(1, {{"clip_norm", 0.25}});
    run->take_steps(6, 8);
  }
  EXPECT_EQ(alone.weights(), mixed.weights());
}

TEST(MultiDevice, FilesDoNotKnowTheDevices) {
  FourMatrices alone(one());
  FourMatrices mixed(several());
  alone.take_steps(0, 4);  // inside a LookAhead period
  mixed.take_steps(0, 4);
  alone.optimizer().set_skipped(3, 5);
  mixed.optimizer().set_skipped(3, 5);
  FourMatrices resumed(several());
  resumed.weights() = alone.weights();
  resumed.take_steps(0, 1);
  resumed.weights() = alone.weights();
  resumed.optimizer().load_bytes(alone.optimizer().save_bytes());
  EXPECT_EQ(resumed.optimizer().status().skipped_steps, 3);
  EXPECT_EQ(resumed.optimizer().status().skipped_tensors, 5);
  alone.optimizer().load_bytes(mixed.optimizer().save_bytes());
  EXPECT_EQ(alone.optimizer().status().skipped_tensors, 5);
  alone.take_steps(4, 11);
  mixed.take_steps(4, 11);
  resumed.take_steps(4, 11);
  EXPECT_EQ(alone.weights(), mixed.weights());
  EXPECT_EQ(resumed.weights(), mixed.weights());  // every device merged in the same steps
}

TEST(MultiDevice, AFileThatOneDeviceRefusesChangesNone) {
  FourMatrices run(several());
  run.take_steps(0, 2);
  const std::string before = run.optimizer().save_bytes();
  FourMatrices other(several());
  other.take_steps(0, 5);
  std::string bad = other.optimizer().save_bytes();
  const std::size_t name = bad.find("\"2.slow\"");  // on the last device
  ASSERT_NE(name, std::string::npos);
  bad[name + 1] = '7';
  EXPECT_THROW(run.optimizer().load_bytes(bad), FileError);
  EXPECT_TRUE(run.optimizer().save_bytes() == before);
}

// Elements of 1e25 are finite in float32, but the sum of their squares is not.
constexpr float kHuge = 1e25F;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(MultiDevice, AStepIsSkippedOnAllDevicesOrOnNone) {
  Options options;
  options.non_finite = NonFinite::kSkipStep;
  for (std::size_t spoiled = 0; spoiled < 4; ++spoiled) {
    for (const float bad : {kHuge, kInfinite}) {
      FourMatrices mixed(several(), options);
      FourMatrices alone(one(), options);
      for (FourMatrices* run : {&mixed, &alone}) {
        run->take_steps(0, 2);
        const std::vector<Values> before = run->weights();
        run->give_gradients(2);
        run->gradients()[spoiled][5] = bad;
        run->optimizer().step();
        EXPECT_EQ(run->weights(), before);
        const OptimizerProgress status = run->optimizer().status();
        EXPECT_EQ(status.skipped_steps, 1);
        EXPECT_EQ(status.skipped_tensors, 0);
        EXPECT_EQ(status.first_non_finite, static_cast<std::int64_t>(spoiled) + 1);
        EXPECT_EQ(run->optimizer().group_steps(0), 2);
        run->take_steps(3, 9);
      }
      EXPECT_EQ(mixed.weights(), alone.weights());
      EXPECT_TRUE(mixed.optimizer().tensor_progress()[0].steps == 8);
    }
  }
}

TEST(MultiDevice, ATensorThatIsSkippedDoesNotCountInTheClippedNorm) {
  for (std::size_t spoiled = 0; spoiled < 4; ++spoiled) {
    for (const float bad : {kHuge, kInfinite}) {
      FourMatrices mixed(several(), clipping_options());
      FourMatrices alone(one(), clipping_options());
      for (FourMatrices* run : {&mixed, &alone}) {
        run->take_steps(0, 2);
        run->give_gradients(2);
        run->gradients()[spoiled][5] = bad;
        run->optimizer().step();
        EXPECT_EQ(run->optimizer().status().skipped_tensors, 1);
      }
      EXPECT_EQ(mixed.weights(), alone.weights());
    }
  }
}

TEST(MultiDevice, OneSkippedStepIsCountedOnceWhereverItWasBad) {
  Options options;
  options.non_finite = NonFinite::kSkipStep;
  FourMatrices run(several(), options);
  run.give_gradients(0);
  for (Values& gradient : run.gradients()) {
    gradient[0] = kInfinite;
  }
  run.optimizer().step();
  EXPECT_EQ(run.optimizer().status().skipped_steps, 1);
}

TEST(MultiDevice, ThrowNamesTheParameterAndChangesNothing) {
  Options options;
  options.non_finite = NonFinite::kThrow;
  FourMatrices run(several(), options);
  run.take_steps(0, 2);
  const std::vector<Values> before = run.weights();
  const std::string state = run.optimizer().save_bytes();
  run.give_gradients(2);
  run.gradients()[2][0] = kHuge;
  EXPECT_THAT(message_of<NonFiniteError>([&] { run.optimizer().step(); }), HasSubstr("'2'"));
  EXPECT_EQ(run.weights(), before);
  run.take_steps(3, 4);
  EXPECT_NE(run.weights(), before);
}

TEST(MultiDevice, ThePolicyMayChangeBetweenSteps) {
  FourMatrices run(several());
  run.give_gradients(0);
  run.gradients()[2][0] = kHuge;
  std::vector<Values> before = run.weights();
  run.optimizer().step();
  EXPECT_NE(run.weights()[0], before[0]);
  EXPECT_EQ(run.weights()[2], before[2]);
  EXPECT_EQ(run.optimizer().status().skipped_tensors, 1);
  run.optimizer().set_non_finite(NonFinite::kSkipStep);
  before = run.weights();
  run.optimizer().step();
  EXPECT_EQ(run.weights(), before);
  // A cleared gradient is not checked.
  run.optimizer().clear_gradient(2);
  run.optimizer().step();
  EXPECT_NE(run.weights()[0], before[0]);
}

TEST(MultiDevice, ADeviceThatJoinsHasTheOthersCountersAndOptions) {
  std::vector<Values> results;
  for (const Device& device : {kHost, kSecond}) {
    FourMatrices run(std::vector<Device>(4, kHost));
    run.optimizer().set_learning_rate_factor(0.5);
    run.optimizer().set_options(1, {{"weight_decay", 0.25}});
    run.take_steps(0, 4);
    Values weight = random_floats(50, 6);
    Values gradient = random_floats(51, 6);
    run.optimizer().add_group({{device, {.name = "new", .data = weight.data(), .shape = {2, 3}}}});
    run.optimizer().set_group_steps(2, run.optimizer().group_steps(0));
    run.optimizer().set_gradient(4, gradient.data(), Dtype::kFloat32);
    run.take_steps(4, 9);
    results.push_back(weight);
    EXPECT_EQ(learning_rate_of(run.optimizer().options(2).rule),
              learning_rate_of(run.optimizer().defaults().rule));
    EXPECT_EQ(run.optimizer().group_steps(2), 9);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(MultiDevice, AGroupJoinsAllDevicesOrNone) {
  FourMatrices run(several());
  Values good = random_floats(60, 24);
  Values vector = random_floats(61, 6);
  const auto add = [&](const Parameter& first, const Parameter& second,
                       const Overrides& overrides) {
    return message_of<std::invalid_argument>(
        [&] { run.optimizer().add_group({{kHost, first}, {kSecond, second}}, overrides); });
  };
  const Parameter cube{.name = "cube", .data = good.data(), .shape = {2, 3, 4}};
  const Parameter matrix{.name = "matrix", .data = vector.data(), .shape = {2, 3}};
  EXPECT_THAT(add(cube, matrix, {{"centralize_axis", std::int64_t{2}}}), HasSubstr("'matrix'"));
  EXPECT_THAT(add(cube, run.parameter(2), {}), HasSubstr("'2'"));
  Parameter overlapping = run.parameter(2);
  overlapping.name = "overlapping";
  EXPECT_THAT(add(cube, overlapping, {}), HasSubstr("share memory"));
  EXPECT_THAT(add(cube, matrix, {{"learning_rte", 0.1}}), HasSubstr("'learning_rate'"));
  EXPECT_THAT(add(cube, {.name = "again", .data = good.data(), .shape = {24}}, {}),
              HasSubstr("that of 'cube'"));
  EXPECT_EQ(run.optimizer().group_count(), 2U);
  EXPECT_EQ(run.optimizer().parameter_count(), 4U);
  run.take_steps(0, 2);
  EXPECT_EQ(run.optimizer().add_group({{kHost, cube}, {kSecond, matrix}}), 2U);
}

TEST(MultiDevice, OptionsChangeOnAllDevicesOrOnNone) {
  Values cube = random_floats(60, 24);
  Values matrix = random_floats(61, 6);
  MultiDeviceOptimizer optimizer({}, make_backend);
  optimizer.add_group({{kHost, {.name = "cube", .data = cube.data(), .shape = {2, 3, 4}}},
                       {kFirst, {.name = "matrix", .data = matrix.data(), .shape = {2, 3}}}});
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.set_options(0, {{"centralize_axis", std::int64_t{2}}}); }),
              HasSubstr("'matrix'"));
  EXPECT_EQ(optimizer.options(0).standardize.centralize_axis, 0);
  optimizer.set_options(0, {{"centralize_axis", std::int64_t{1}}});
  EXPECT_EQ(optimizer.place_of(1).optimizer.options(0).standardize.centralize_axis, 1);
}

TEST(MultiDevice, SlowWeightsComeAndGoOnAllDevices) {
  FourMatrices run(several());
  const std::vector<Values> start = run.weights();
  run.take_steps(0, 2);
  const std::vector<Values> fast = run.weights();
  run.optimizer().use_slow_weights();
  EXPECT_EQ(run.weights(), start);  // nothing has been merged yet
  run.optimizer().use_fast_weights();
  EXPECT_EQ(run.weights(), fast);
}

TEST(MultiDevice, SlowWeightsAreOnAllDevicesOrOnNone) {
  bool has_memory = true;
  Values first = random_floats(1, 12);
  Values second = random_floats(2, 12);
  const Values gradient = random_floats(3, 12);
  MultiDeviceOptimizer optimizer({}, [&](const Device& device) {
    const Allocator allocator = [&, device](std::size_t bytes) {
      if (device == kSecond && !has_memory) {
        throw std::bad_alloc();
      }
      return std::shared_ptr<void>(std::calloc(bytes, 1), std::free);
    };
    return make_cpu_backend({.threads = 1, .allocator = allocator});
  });
  optimizer.add_group({{kFirst, {.name = "first", .data = first.data(), .shape = {12}}},
                       {kSecond, {.name = "second", .data = second.data(), .shape = {12}}}});
  optimizer.set_gradient(0, gradient.data(), Dtype::kFloat32);
  optimizer.set_gradient(1, gradient.data(), Dtype::kFloat32);
  optimizer.step();
  const Values before = first;
  has_memory = false;
  EXPECT_THROW(optimizer.use_slow_weights(), std::bad_alloc);
  EXPECT_EQ(first, before);
  EXPECT_NO_THROW(optimizer.step());
  has_memory = true;
  EXPECT_NO_THROW(optimizer.use_slow_weights());
}

TEST(MultiDevice, AGroupWithoutParametersCanBeSaved) {
  MultiDeviceOptimizer optimizer({}, make_backend);
  EXPECT_THROW(optimizer.save_bytes(), std::invalid_argument);
  optimizer.add_group({});
  optimizer.step();
  optimizer.load_bytes(optimizer.save_bytes());
  EXPECT_EQ(optimizer.group_steps(0), 1);
}

TEST(MultiDevice, AMisspelledNameGetsAHint) {
  MultiDeviceOptimizer optimizer({}, make_backend);
  Values weight(3);
  optimizer.add_group({{kHost, {.name = "weight", .data = weight.data(), .shape = {3}}}});
  EXPECT_EQ(optimizer.find_parameter("weight"), 0U);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.find_parameter("wieght"); }),
              HasSubstr("did you mean 'weight'"));
}

TEST(MultiDeviceOptimizer, AShardIsAloneOnItsDevice) {
  float values[4] = {};
  Parameter whole{.name = "whole", .data = values, .shape = {2}};
  Parameter part{.name = "part", .data = values + 2, .shape = {2}};
  part.shard = Shard{.whole_shape = {4}, .offset = {2}, .cut_axes = {0}};
  MultiDeviceOptimizer optimizer({}, make_backend);
  optimizer.add_group({{kHost, part}});
  EXPECT_EQ(message_of<std::invalid_argument>([&] { optimizer.add_group({{kFirst, whole}}); }),
            "[optimizer] parameter 'part': wanted an optimizer on one device, because it is a "
            "shard, got one on 2 devices");
  EXPECT_EQ(optimizer.parameter_count(), 1);
  optimizer.add_group({{kHost, whole}});
}

}  // namespace
}  // namespace sing
