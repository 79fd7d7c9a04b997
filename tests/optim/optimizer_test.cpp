// Checks the optimizer's bookkeeping on every backend: parameters, absent gradients, groups, master
// and 16-bit copies, slow weights. The rules' numbers are tested elsewhere.
#include "sing/optim/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::DeviceTensor;
using test::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

// Returns gradient descent at rate 1 on bare gradients, so that a step subtracts the gradient.
Options descent() { return bare_rule(Sgd{.learning_rate = 1}); }

class OptimizerTest : public test::BackendTest {
 protected:
  DeviceTensor tensor(const Numbers& values, Dtype dtype = Dtype::kFloat32) {
    return {backend_, dtype, {static_cast<std::int64_t>(values.size())}, values};
  }
  std::string refusal(const std::vector<Parameter>& parameters, const Options& options = {}) {
    Optimizer optimizer(options, backend_);
    const std::string message =
        message_of<std::invalid_argument>([&] { optimizer.add_group(parameters); });
    EXPECT_EQ(optimizer.group_count(), 0U);
    EXPECT_EQ(optimizer.parameter_count(), 0U);
    return message;
  }
};
SING_ON_BACKENDS(OptimizerTest, test::backend_kinds());

TEST_P(OptimizerTest, AParameterListedTwiceIsOne) {
  DeviceTensor shared = tensor({1, 2});
  const DeviceTensor gradient = tensor({0.25, 0.5});
  Optimizer optimizer({shared.parameter("embedding"), shared.parameter("head", gradient)},
                      descent(), backend_);
  EXPECT_EQ(optimizer.parameter_count(), 1U);
  EXPECT_EQ(optimizer.find_parameter("embedding"), 0U);
  EXPECT_THROW(optimizer.find_parameter("head"), std::invalid_argument);
  optimizer.step();
  EXPECT_EQ(shared.values(), (Numbers{0.75, 1.5}));
}

TEST_P(OptimizerTest, TwoListingsMustAgree) {
  DeviceTensor shared = tensor({1, 2, 3, 4});
  const DeviceTensor one = tensor({1, 1, 1, 1});
  const DeviceTensor other = tensor({1, 1, 1, 1});
  EXPECT_THAT(refusal({shared.parameter("a", one), shared.parameter("b", other)}),
              AllOf(HasSubstr("'a'"), HasSubstr("two gradients")));
  Parameter as_matrix = shared.parameter("b");
  as_matrix.shape = {2, 2};
  EXPECT_THAT(refusal({shared.parameter("a"), as_matrix}),
              AllOf(HasSubstr("'a'"), HasSubstr("'b'")));
}

TEST_P(OptimizerTest, OverlappingMemoryIsRefused) {
  DeviceTensor whole = tensor({1, 2, 3, 4});
  Parameter tail = whole.parameter("tail");
  tail.data = static_cast<std::byte*>(whole.data()) + 2 * sizeof(float);
  tail.shape = {2};
  EXPECT_THAT(refusal({whole.parameter("whole"), tail}),
              AllOf(HasSubstr("'whole'"), HasSubstr("'tail'"), HasSubstr("share memory")));
  Optimizer optimizer({whole.parameter("whole")}, {}, backend_);
  EXPECT_THROW(optimizer.add_group({tail}), std::invalid_argument);
  EXPECT_THROW(optimizer.add_group({whole.parameter("again")}), std::invalid_argument);
  EXPECT_EQ(optimizer.group_count(), 1U);
}

TEST_P(OptimizerTest, NeighborsDoNotOverlap) {
  DeviceTensor whole = tensor({1, 2, 3, 4});
  Parameter head = whole.parameter("head");
  head.shape = {2};
  Parameter tail = head;
  tail.name = "tail";
  tail.data = static_cast<std::byte*>(whole.data()) + 2 * sizeof(float);
  EXPECT_EQ(Optimizer({tail, head}, {}, backend_).parameter_count(), 2U);
}

TEST_P(OptimizerTest, NamesAreUniqueAndGivenByPositionWhereEmpty) {
  DeviceTensor a = tensor({1});
  DeviceTensor b = tensor({1});
  EXPECT_THAT(refusal({a.parameter("same"), b.parameter("same")}), HasSubstr("'same'"));
  Optimizer optimizer({a.parameter("first")}, {}, backend_);
  optimizer.add_group({b.parameter("")});
  EXPECT_EQ(optimizer.parameter_name(0), "first");
  EXPECT_EQ(optimizer.parameter_name(1), "1");
  EXPECT_THROW(optimizer.parameter_name(2), std::invalid_argument);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.find_parameter("frist"); }),
              HasSubstr("'first'"));
}

TEST_P(OptimizerTest, BadParametersAreRefused) {
  DeviceTensor good = tensor({1, 2});
  const auto changed = [&](auto change) {
    Parameter parameter = good.parameter("w");
    change(parameter);
    return refusal({parameter});
  };
  EXPECT_THAT(changed([](Parameter& p) { p.data = nullptr; }),
              AllOf(HasSubstr("[optimizer]"), HasSubstr("'w'"), HasSubstr("null")));
  EXPECT_THAT(changed([](Parameter& p) { p.shape = {-2}; }),
              HasSubstr("wanted extents of at least 0, got -2"));
  EXPECT_THAT(changed([](Parameter& p) { p.shape = {1LL << 40, 1LL << 40}; }), HasSubstr("2^60"));
  EXPECT_THAT(changed([](Parameter& p) { p.dtype = Dtype::kInt64; }), HasSubstr("int64"));
  EXPECT_THAT(changed([](Parameter& p) { p.gradient_dtype = Dtype::kFloat64; }),
              HasSubstr("float64"));
  EXPECT_THAT(changed([](Parameter& p) { p.gradient_dtype = Dtype::kInt64; }), HasSubstr("int64"));
  EXPECT_THAT(changed([](Parameter& p) {
                p.low_precision_copy = p.data;
                p.low_precision_dtype = Dtype::kFloat32;
              }),
              HasSubstr("16-bit"));
  const auto shifted = [](const void* memory) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(memory) + 2);
  };
  EXPECT_THAT(changed([&](Parameter& p) { p.data = shifted(p.data); }),
              HasSubstr("wanted its elements at a multiple of 4 bytes"));
  EXPECT_THAT(changed([&](Parameter& p) { p.gradient = shifted(p.data); }),
              HasSubstr("wanted its gradient at a multiple of 4 bytes"));
  EXPECT_THAT(
      changed([&](Parameter& p) { p.low_precision_copy = static_cast<std::byte*>(p.data) + 1; }),
      HasSubstr("wanted its 16-bit copy at a multiple of 2 bytes"));
  Optimizer optimizer({good.parameter("w")}, {}, backend_);
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { optimizer.set_gradient(0, shifted(good.data())); }),
      HasSubstr("wanted its gradient at a multiple of 4 bytes"));
  optimizer.set_gradient(0, shifted(good.data()), Dtype::kFloat16);
  Parameter matrix = good.parameter("m");
  matrix.shape = {1, 2};
  EXPECT_THAT(refusal({matrix}, {.standardize = {.centralize_axis = 2}}),
              AllOf(HasSubstr("'m'"), HasSubstr("centralize_axis")));
}

TEST_P(OptimizerTest, AbsentGradientsStartTheirStateLater) {
  DeviceTensor early = tensor({1});
  DeviceTensor late = tensor({1});
  const DeviceTensor gradient = tensor({0.5});
  Optimizer optimizer({early.parameter("early", gradient), late.parameter("late")},
                      bare_rule(AdamW{.learning_rate = 0.25}), backend_);
  optimizer.step();
  optimizer.step();
  EXPECT_EQ(late.values()[0], 1);
  EXPECT_TRUE(optimizer.state(1).empty());
  EXPECT_EQ(optimizer.state_bytes(), 2 * sizeof(float));
  optimizer.set_gradient(1, gradient.data());
  optimizer.step();
  // The first step of AdamW is the learning rate: bias correction counts the parameter's own steps.
  EXPECT_NEAR(late.values()[0], 0.75, 1e-6);
  EXPECT_EQ(optimizer.tensor_progress()[0].steps, 3);
  EXPECT_EQ(optimizer.tensor_progress()[1].steps, 1);
  optimizer.set_gradient(1, nullptr);
  optimizer.step();
  EXPECT_EQ(optimizer.tensor_progress()[1].steps, 1);
  EXPECT_NEAR(late.values()[0], 0.75, 1e-6);
}

TEST_P(OptimizerTest, NoParametersAndNoGradientsAreAStepOfNothing) {
  Optimizer empty(Options{}, backend_);
  empty.step();
  EXPECT_TRUE(empty.gradient_norms().empty());
  DeviceTensor idle = tensor({1, 2});
  Optimizer optimizer({idle.parameter("idle")}, {}, backend_);
  optimizer.step();
  EXPECT_EQ(idle.values(), (Numbers{1, 2}));
  EXPECT_EQ(optimizer.state_bytes(), 0U);
}

TEST_P(OptimizerTest, AGroupCanJoinBetweenSteps) {
  DeviceTensor first = tensor({1});
  DeviceTensor second = tensor({1});
  const DeviceTensor gradient = tensor({0.25});
  Optimizer optimizer({first.parameter("first", gradient)}, descent(), backend_);
  optimizer.step();
  EXPECT_EQ(optimizer.add_group({second.parameter("second", gradient)}, {{"learning_rate", 2.0}}),
            1U);
  optimizer.step();
  EXPECT_EQ(first.values()[0], 0.5);
  EXPECT_EQ(second.values()[0], 0.5);
}

TEST_P(OptimizerTest, LearningRateAndItsFactorMultiply) {
  DeviceTensor weight = tensor({1});
  const DeviceTensor gradient = tensor({1});
  Optimizer optimizer({weight.parameter("w", gradient)}, descent(), backend_);
  optimizer.set_learning_rate(0.5);
  optimizer.set_learning_rate_factor(0.25);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 0.875);
  optimizer.set_learning_rate_factor(0);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 0.875);
}

// A factor of 1/2 also halves the decay, which is multiplied by the learning rate.
TEST_P(OptimizerTest, VectorsAreDecayedOnlyOnDemand) {
  for (const bool decay_vectors : {false, true}) {
    DeviceTensor vector = tensor({1});
    DeviceTensor matrix(backend_, Dtype::kFloat32, {1, 1}, Numbers{1});
    const DeviceTensor zero = tensor({0});
    Options options = bare_rule(Sgd{.learning_rate = 0.5, .weight_decay = 0.5});
    options.decay_vectors = decay_vectors;
    Optimizer optimizer({vector.parameter("v", zero), matrix.parameter("m", zero)}, options,
                        backend_);
    optimizer.set_learning_rate_factor(0.5);
    optimizer.step();
    EXPECT_EQ(vector.values()[0], decay_vectors ? 0.875 : 1);
    EXPECT_EQ(matrix.values()[0], 0.875);
  }
}

TEST_P(OptimizerTest, GradientNormsAreThoseOfTheRawGradients) {
  DeviceTensor a = tensor({0, 0});
  DeviceTensor b(backend_, Dtype::kFloat32, {1, 2});
  const DeviceTensor first = tensor({3, 4});
  const DeviceTensor second = tensor({5, 12});
  Optimizer optimizer({a.parameter("a", first), b.parameter("b", second)}, {}, backend_);
  optimizer.step();
  EXPECT_NEAR(optimizer.gradient_norms()[0], 5, 1e-6);
  EXPECT_NEAR(optimizer.gradient_norms()[1], 13, 1e-6);
  optimizer.step(8);
  EXPECT_NEAR(optimizer.gradient_norms()[0], 5.0 / 8, 1e-6);
  EXPECT_EQ(first.values(), (Numbers{3, 4})) << "gradients are never written";
}

TEST_P(OptimizerTest, ABadLossScaleIsRefusedBeforeAnythingHappens) {
  DeviceTensor weight = tensor({1});
  const DeviceTensor gradient = tensor({1});
  Optimizer optimizer({weight.parameter("w", gradient)}, descent(), backend_);
  for (const double bad : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(optimizer.step(bad), std::invalid_argument);
  }
  EXPECT_EQ(weight.values()[0], 1);
  EXPECT_EQ(optimizer.tensor_progress()[0].steps, 0);
}

TEST_P(OptimizerTest, AGradientOfTheWrongTypeIsRefused) {
  DeviceTensor weight = tensor({1});
  const DeviceTensor gradient = tensor({1}, Dtype::kBFloat16);
  Optimizer optimizer({weight.parameter("w")}, descent(), backend_);
  EXPECT_THROW(optimizer.set_gradient(0, gradient.data(), Dtype::kFloat64), std::invalid_argument);
  EXPECT_THROW(optimizer.set_gradient(1, gradient.data()), std::invalid_argument);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 1);
  optimizer.set_gradient(0, gradient.data(), Dtype::kBFloat16);
  optimizer.step();
  EXPECT_EQ(weight.values()[0], 0);
}

// Steps of 2⁻¹² from 1 are below half a unit of bfloat16 (2⁻⁸ below 1), so they are lost without a
// master.
TEST_P(OptimizerTest, AMasterKeepsWhatSixteenBitsCannot) {
  for (const bool master : {false, true}) {
    DeviceTensor weight = tensor({1}, Dtype::kBFloat16);
    const DeviceTensor gradient = tensor({0x1p-12}, Dtype::kFloat32);
    Options options = descent();
    options.master_weights = master;
    Optimizer optimizer({weight.parameter("w", gradient)}, options, backend_);
    for (int step = 0; step < 64; ++step) {
      optimizer.step();
    }
    EXPECT_EQ(weight.values()[0], master ? 1 - 64 * 0x1p-12 : 1);
    EXPECT_EQ(optimizer.state_bytes(), master ? sizeof(float) : 0U);
  }
}

TEST_P(OptimizerTest, TheLowPrecisionCopyFollowsTheParameter) {
  for (const Dtype dtype : {Dtype::kBFloat16, Dtype::kFloat16}) {
    DeviceTensor weight = tensor({1, -0.3, 2.7});
    const DeviceTensor gradient = tensor({0.1, 0.2, 0.3});
    DeviceTensor copy = tensor({0, 0, 0}, dtype);
    Parameter parameter = weight.parameter("w", gradient);
    parameter.low_precision_copy = copy.data();
    parameter.low_precision_dtype = dtype;
    Optimizer optimizer({parameter}, {.lookahead = Lookahead{.period = 4}}, backend_);
    // A fresh tensor of the type rounds the float32 values as the copy must have.
    const auto expect_same = [&] {
      EXPECT_EQ(copy.values(), tensor(weight.values(), dtype).values());
    };
    for (int step = 0; step < 6; ++step) {
      optimizer.step();
      expect_same();
    }
    const Numbers fast = copy.values();
    optimizer.use_slow_weights();
    expect_same();
    EXPECT_NE(copy.values(), fast);
    optimizer.use_fast_weights();
    expect_same();
    EXPECT_EQ(copy.values(), fast);
    EXPECT_TRUE(copy.sentinels_intact());
  }
}

TEST_P(OptimizerTest, SlowWeightsSwapInAndBackExactly) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16, Dtype::kFloat16}) {
    SCOPED_TRACE(name_of(dtype));
    DeviceTensor weight = tensor({1, -0.3, 2.7}, dtype);
    DeviceTensor late = tensor({5}, dtype);
    const DeviceTensor gradient = tensor({0.1, 0.2, 0.3}, dtype);
    Options options;
    options.lookahead = Lookahead{.period = 3, .alpha = 0.25};
    options.master_weights = is_low_precision(dtype);
    Optimizer optimizer({weight.parameter("w", gradient), late.parameter("late")}, options,
                        backend_);
    for (int step = 0; step < 5; ++step) {
      optimizer.step();
    }
    const std::string fast = weight.bytes();
    Numbers slow(3);
    for (const StateTensor& state : optimizer.state(0)) {
      if (state.name == "w.slow") {
        std::string bytes(3 * size_of(state.dtype), '\0');
        backend_->read(bytes.data(), state.memory.get(), bytes.size());
        slow = DeviceTensor::values_of(bytes, state.dtype);
      }
    }
    optimizer.use_slow_weights();
    EXPECT_EQ(weight.values(), tensor(slow, dtype).values());
    EXPECT_NE(weight.bytes(), fast);
    EXPECT_EQ(late.values()[0], 5);
    EXPECT_THROW(optimizer.use_slow_weights(), std::invalid_argument);
    EXPECT_THROW(optimizer.step(), std::invalid_argument);
    EXPECT_THROW(optimizer.add_group({}), std::invalid_argument);
    optimizer.use_fast_weights();
    EXPECT_EQ(weight.bytes(), fast);
    EXPECT_THROW(optimizer.use_fast_weights(), std::invalid_argument);
  }
}

// The average is that of the numbers that the rule computes with, which a 16-bit parameter rounds.
TEST_P(OptimizerTest, TheAverageForEvaluationIsThatOfTheMaster) {
  for (const bool master : {false, true}) {
    const Dtype dtype = master ? Dtype::kBFloat16 : Dtype::kFloat32;
    const ScheduleFreeAdamW rule{.learning_rate = 0.01};
    DeviceTensor weight = tensor({1, -0.3, 2.7}, dtype);
    const DeviceTensor gradient = tensor({0.1, 0.2, 0.3}, dtype);
    Options options = bare_rule(rule);
    options.master_weights = master;
    Optimizer optimizer({weight.parameter("w", gradient)}, options, backend_);
    for (int step = 0; step < 3; ++step) {
      optimizer.step();
    }
    std::map<std::string, Numbers> numbers{{"w.master", weight.values()}};
    for (const StateTensor& state : optimizer.state(0)) {
      if (state.shape != std::vector<std::int64_t>{3}) {
        continue;  // a counter
      }
      std::string bytes(3 * size_of(state.dtype), '\0');
      backend_->read(bytes.data(), state.memory.get(), bytes.size());
      numbers[state.name] = DeviceTensor::values_of(bytes, state.dtype);
    }
    optimizer.use_slow_weights();
    const Numbers averages = weight.values();
    for (std::size_t i = 0; i < averages.size(); ++i) {
      const double from = numbers["w.master"][i];
      const double average = from + (1 - 1 / rule.beta1) * (numbers["w.fast"][i] - from);
      // Two roundings of float32, then one of the parameter's type.
      const double roundoff = master ? 0x1p-9 : 0x1p-24;
      EXPECT_NEAR(averages[i], average, (roundoff + 2 * 0x1p-24) * std::abs(average)) << i;
    }
  }
}

// Steps after a temporary switch to the slow weights equal those of an optimizer that never
// switched.
TEST_P(OptimizerTest, AVisitToTheSlowWeightsLeavesNoTrace) {
  for (const bool excursion : {false, true}) {
    static Numbers expected;
    DeviceTensor weight = tensor({1, -0.3, 2.7}, Dtype::kBFloat16);
    const DeviceTensor gradient = tensor({0.1, 0.2, 0.3}, Dtype::kBFloat16);
    Optimizer optimizer({weight.parameter("w", gradient)}, {}, backend_);
    for (int step = 0; step < 8; ++step) {
      if (excursion && step == 3) {
        optimizer.use_slow_weights();
        optimizer.use_fast_weights();
      }
      optimizer.step();
    }
    expected = excursion ? expected : weight.values();
    EXPECT_EQ(weight.values(), expected);
  }
}

}  // namespace
}  // namespace sing
