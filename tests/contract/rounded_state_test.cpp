// Checks state in bfloat16. A step with it is the step with float32 state that has the same values
// before, followed by stochastic rounding: bit for bit, for every rule, on every backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "sing/base/message.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/same_bytes.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::Model;
using test::Types;

constexpr int kSteps = 7;  // past a merge of LookAhead

constexpr Types kRounded{Dtype::kFloat32, Dtype::kFloat32, false, StateType::kBFloat16};

class RoundedState : public test::BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (backend_ != nullptr && backend_->device().type != DeviceType::kCpu) {
      GTEST_SKIP() << "state in bfloat16 is for the CPU";
    }
  }

  void write(const StateTensor& tensor, const std::vector<double>& values) const {
    std::string bytes(values.size() * size_of(tensor.dtype), '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
      store_element(bytes.data(), tensor.dtype, static_cast<std::int64_t>(i), values[i]);
    }
    backend_->write(tensor.memory.get(), bytes.data(), bytes.size());
  }
};
SING_ON_BACKENDS(RoundedState, test::backend_kinds());

// Returns the place of a slot in its rule's list; none for slow weights and masters.
std::optional<std::size_t> place_of(const Rule& rule, const std::string& array) {
  return std::visit(
      [&](const auto& each) -> std::optional<std::size_t> {
        for (std::size_t k = 0; k < std::size(each.kSlots); ++k) {
          if (array.ends_with(fmt::format(".{}", each.kSlots[k].name))) {
            return k;
          }
        }
        return std::nullopt;
      },
      rule);
}

// Returns whether the state of a vector has slots that are rounded.
bool has_rounded_slots(const Rule& rule) {
  return std::visit(
      [](const auto& each) {
        bool found = false;
        for (std::size_t k = 0; k < std::size(each.kSlots); ++k) {
          found = found ||
                  (each.uses_slot(k, false) && is_rounded(each.kSlots[k], StateType::kBFloat16));
        }
        return found;
      },
      rule);
}

// Compares the state of a rounded run after a step with that of its exact twin, and gives the twin
// the rounded values for its next step.
class Twins {
 public:
  Twins(Model& rounded, Model& exact,
        std::function<void(const StateTensor&, const std::vector<double>&)> write)
      : rounded_(rounded), exact_(exact), write_(std::move(write)) {}

  void expect_rounded(std::size_t i) {
    const std::vector<StateTensor> ours = rounded_.optimizer().state(i);
    const std::vector<StateTensor> theirs = exact_.optimizer().state(i);
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_TRUE(test::same_bytes(rounded_.parameter(i).bytes(), exact_.parameter(i).bytes()));
    for (std::size_t k = 0; k < ours.size(); ++k) {
      ASSERT_EQ(ours[k].name, theirs[k].name);
      if (ours[k].dtype == theirs[k].dtype) {
        EXPECT_TRUE(test::same_bytes(rounded_.state_bytes(ours[k]), exact_.state_bytes(theirs[k])))
            << ours[k].name;
      } else {
        ASSERT_EQ(ours[k].dtype, Dtype::kBFloat16) << ours[k].name;
        expect_slot(i, ours[k], theirs[k]);
        ++rounded_slots_;
      }
    }
  }

  int rounded_slots() const { return rounded_slots_; }

 private:
  void expect_slot(std::size_t i, const StateTensor& ours, const StateTensor& theirs) {
    const std::size_t slot = place_of(rounded_.optimizer().options(0).rule, ours.name).value();
    const StochasticRounding rounding(
        rounding_seed(rounded_.parameter(i).parameter(rounded_.optimizer().parameter_name(i))),
        rounded_.optimizer().tensor_progress()[i].steps, slot);
    const auto exact = test::DeviceTensor::values_of(exact_.state_bytes(theirs), theirs.dtype);
    const auto actual = test::DeviceTensor::values_of(rounded_.state_bytes(ours), ours.dtype);
    for (std::size_t element = 0; element < exact.size(); ++element) {
      const BFloat16 wanted =
          rounding(static_cast<float>(exact[element]), static_cast<std::uint32_t>(element));
      ASSERT_EQ(actual[element], static_cast<double>(to_float(wanted)))
          << ours.name << " element " << element << ", " << exact[element] << " before rounding";
    }
    write_(theirs, actual);
  }

  Model& rounded_;
  Model& exact_;
  std::function<void(const StateTensor&, const std::vector<double>&)> write_;
  int rounded_slots_ = 0;
};

TEST_P(RoundedState, IsTheFloat32StateRoundedAfterEachStep) {
  std::vector<test::Shape> shapes = test::small_shapes();
  shapes.push_back({5, 617});  // several blocks
  for (const test::RuleVariant& variant : test::rule_variants()) {
    for (Types types :
         {Types{Dtype::kFloat32, Dtype::kFloat32}, Types{Dtype::kBFloat16, Dtype::kBFloat16},
          Types{Dtype::kFloat16, Dtype::kFloat32, true}}) {
      SCOPED_TRACE(fmt::format("{}, {}", variant.name, types.name()));
      const Options options{.rule = variant.rule};
      Model exact(backend_, shapes, types, options);
      types.state = StateType::kBFloat16;
      Model rounded(backend_, shapes, types, options);
      Twins twins(rounded, exact,
                  [&](const StateTensor& to, const auto& values) { write(to, values); });
      for (int step = 0; step < kSteps; ++step) {
        rounded.take_step(step);
        exact.take_step(step);
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          SCOPED_TRACE(fmt::format("step {}, tensor {}", step, i));
          ASSERT_NO_FATAL_FAILURE(twins.expect_rounded(i));
        }
      }
      rounded.expect_sentinels();
      EXPECT_EQ(twins.rounded_slots() > 0, has_rounded_slots(variant.rule));
    }
  }
}

// A wrong step number, tensor or slot would give other random bits.
TEST_P(RoundedState, RoundsEachTensorSlotAndStepOnItsOwn) {
  const std::vector<double> value(4096, 1 + 0x1p-8);  // halfway between two neighbors
  Options options = test::bare_rule(AdaMod{.beta1 = 0, .beta2 = 0});
  options.state = StateType::kBFloat16;
  test::DeviceTensor first(backend_, Dtype::kFloat32, {4096});
  test::DeviceTensor second(backend_, Dtype::kFloat32, {4096});
  const test::DeviceTensor gradient(backend_, Dtype::kFloat32, {4096}, value);
  Optimizer optimizer({first.parameter("first", gradient), second.parameter("second", gradient)},
                      options, backend_);
  std::vector<std::string> moments;
  for (int step = 0; step < 3; ++step) {
    optimizer.step();
    for (std::size_t parameter = 0; parameter < 2; ++parameter) {
      const StateTensor moment = optimizer.state(parameter)[0];
      std::string bytes(4096 * 2, '\0');
      backend_->read(bytes.data(), moment.memory.get(), bytes.size());
      moments.push_back(std::move(bytes));
    }
  }
  for (std::size_t i = 0; i < moments.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      int different = 0;
      for (std::size_t byte = 0; byte < moments[i].size(); byte += 2) {
        different += moments[i][byte] != moments[k][byte] ? 1 : 0;
      }
      // Half of 4096 independent pairs differ, with a standard deviation of 32.
      EXPECT_NEAR(different, 2048, 5 * 32) << i << " and " << k;
    }
  }
}

TEST_P(RoundedState, TakesTwoBytesPerElement) {
  Options options;
  options.lookahead.reset();
  Model model(backend_, {{64, 3}}, kRounded, options);
  model.take_step(0);
  EXPECT_EQ(model.optimizer().state_bytes(), 64 * 3 * (2 + 2));
}

// Weights are not means: Schedule-Free's fast sequence, the slow weights and masters are never
// rounded.
TEST_P(RoundedState, KeepsWeightsInFloat32) {
  Options options;
  options.rule = ScheduleFreeAdamW{};
  Model model(backend_, {{5, 3}}, {Dtype::kBFloat16, Dtype::kBFloat16, true, StateType::kBFloat16},
              options);
  model.take_step(0);
  std::vector<std::string> types;
  for (const StateTensor& tensor : model.optimizer().state(0)) {
    types.push_back(fmt::format("{} {}", tensor.name, name_of(tensor.dtype)));
  }
  EXPECT_EQ(types, (std::vector<std::string>{"0.fast float32", "0.second_moment bfloat16",
                                             "0.largest_rate float32", "0.weight_sum float32",
                                             "0.slow float32", "0.master float32"}));
}

TEST_P(RoundedState, IsUnchangedByASkippedStep) {
  for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow}) {
    SCOPED_TRACE(name_of(policy));
    Options options;
    options.non_finite = policy;
    Model model(backend_, {{31, 33}}, kRounded, options);
    Model other(backend_, {{31, 33}}, kRounded, options);
    model.take_step(0);
    other.take_step(0);
    const std::vector<std::string> before = model.all_bytes();
    std::vector<double> spoiled(31 * 33, 1.0);
    spoiled[17] = std::numeric_limits<double>::infinity();
    model.gradient(0).set(spoiled);
    if (policy == NonFinite::kThrow) {
      EXPECT_THROW(model.optimizer().step(), NonFiniteError);
    } else {
      model.optimizer().step();
    }
    EXPECT_TRUE(test::same_bytes(model.all_bytes(), before));
    // The next step rounds as if the skipped one had not been.
    other.take_step(1);
    model.take_step(1);
    EXPECT_TRUE(test::same_bytes(model.all_bytes(), other.all_bytes()));
  }
}

// Without centralization and normalization no sum over the tensor enters the step, and parts of
// whole rows are numbered as in the whole tensor.
TEST_P(RoundedState, OfShardsIsThatOfTheWholeTensor) {
  Options options = test::bare_rule(AdamW{});
  options.state = StateType::kBFloat16;
  const test::Shape shape{10, 7};
  Model whole(backend_, {shape}, kRounded, options);
  test::Processes processes({3, 1}, {{shape, {0, test::kReplicate}}}, Dtype::kFloat32, options,
                            GetParam().make,
                            [&](std::size_t i) { return test::random_values(i, product(shape)); });
  for (int step = 0; step < kSteps; ++step) {
    whole.take_step(step);
    processes.set_gradient(0, whole.gradient(0).values());
    for (const std::exception_ptr& thrown : processes.step()) {
      ASSERT_EQ(thrown, nullptr);
    }
  }
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    test::Process& process = processes[rank];
    EXPECT_EQ(process.parameters[0].values(),
              test::part_of(whole.parameter(0).values(), process.shards[0],
                            process.parameters[0].shape()))
        << rank;
  }
}

// ½ Σ aᵢ (xᵢ − cᵢ)² with curvatures from 1/16 to 1. The gradients have no noise, so that the
// rounding errors of momentum, at most 2⁻⁷ of it, are multiplied with steps that shrink to nothing.
TEST_P(RoundedState, MinimizesAQuadratic) {
  constexpr std::size_t kSize = 64;
  constexpr int kManySteps = 600;
  for (const Rule& rule : std::vector<Rule>{Sgd{.learning_rate = 0.5, .momentum = 0.9},
                                            AdamW{.learning_rate = 0.05, .beta2 = 0.999}}) {
    SCOPED_TRACE(name_of(rule));
    std::vector<double> losses;
    for (const StateType state : {StateType::kFloat32, StateType::kBFloat16}) {
      Options options = test::bare_rule(rule);
      options.state = state;
      const std::vector<double> center = test::random_values(1, kSize);
      test::Trajectory run(backend_, options, {kSize}, std::vector<double>(kSize), Dtype::kFloat32);
      std::vector<double> x(kSize);
      std::vector<double> gradient(kSize);
      double loss = 0;
      for (int step = 0; step < kManySteps; ++step) {
        loss = 0;
        for (std::size_t i = 0; i < kSize; ++i) {
          const double curvature = std::exp2(-static_cast<double>(i % 5));
          gradient[i] = curvature * (x[i] - center[i]);
          loss += 0.5 * gradient[i] * (x[i] - center[i]);
        }
        run.optimizer().set_learning_rate_factor(1 - static_cast<double>(step) / kManySteps);
        x = run.take(gradient);
      }
      losses.push_back(loss);
    }
    // The loss at the start is about 64 · ½ · 0.4 · ⅓ = 4.
    EXPECT_LE(losses[0], 4e-8);
    EXPECT_LE(losses[1], 4e-8);
  }
}

TEST(RoundedStateChecks, Float64ParametersAreRefused) {
  const auto backend = std::shared_ptr<Backend>(make_cpu_backend({}));
  const std::string message = test::message_of<std::invalid_argument>([&] {
    Model model(backend, {{2}}, {Dtype::kFloat64, Dtype::kFloat64, false, StateType::kBFloat16},
                {});
  });
  EXPECT_EQ(message,
            "[optimizer] parameter '0' (2): wanted a float32 or 16-bit parameter for state "
            "'bfloat16', got float64");
}

TEST(RoundedStateChecks, TheTypeCannotChange) {
  const auto backend = std::shared_ptr<Backend>(make_cpu_backend({}));
  Model model(backend, {{2}}, kRounded, {});
  const std::string message = test::message_of<std::invalid_argument>(
      [&] { model.optimizer().set_option(0, "state", std::string("float32")); });
  EXPECT_EQ(message,
            "[optimizer] wanted options that keep the state of '0' in bfloat16, got state "
            "'float32'; the type of state cannot change");
  EXPECT_EQ(model.optimizer().options(0).state, StateType::kBFloat16);
}

TEST(RoundedStateChecks, CudaRefusesIt) {
  if (!is_cuda_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  const auto backend = std::shared_ptr<Backend>(make_cuda_backend({}));
  const std::string message =
      test::message_of<std::invalid_argument>([&] { Model model(backend, {{2}}, kRounded, {}); });
  EXPECT_EQ(message, "[optimizer] parameter '0' (2): wanted float32 state on cuda:0, got bfloat16");
}

}  // namespace
}  // namespace sing
